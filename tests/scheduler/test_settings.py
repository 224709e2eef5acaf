"""The operator's settings."""

import pytest

from managedjobs.settings import SettingsError, read_settings


def test_nothing_set_gives_the_defaults():
    settings = read_settings({})
    assert (settings.namespace, settings.health_port, settings.metrics_port) == ("managedjobs-system", 8081, 8080)
    assert settings.workload_namespaces == ()
    assert settings.controller.keep_jobs is True


def test_every_setting_is_read():
    settings = read_settings(
        {
            "MANAGEDJOBS_NAMESPACE": "mj",
            "MANAGEDJOBS_WORKLOAD_NAMESPACES": "team-a, team-b,",
            "MANAGEDJOBS_DEFAULT_POOL": '{"maxRunning": 3}',
            "MANAGEDJOBS_IMAGE": "registry.example/managedjobs:2",
            "MANAGEDJOBS_IMAGE_PULL_SECRETS": "one,two",
            "MANAGEDJOBS_KEEP_JOBS": "False",
            "MANAGEDJOBS_LOG_FORMAT": "json",
            "MANAGEDJOBS_HEALTH_PORT": "0",
        }
    )
    assert settings.workload_namespaces == ("team-a", "team-b")
    assert settings.default_pool == {"maxRunning": 3}
    assert (settings.controller.namespace, settings.controller.image) == ("mj", "registry.example/managedjobs:2")
    assert (settings.controller.image_pull_secrets, settings.controller.keep_jobs) == (("one", "two"), False)
    assert (settings.log_format, settings.controller.log_format, settings.health_port) == ("json", "json", 0)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(SettingsError) as caught:
        read_settings(
            {
                "MANAGEDJOBS_HEALTH_PORT": "high",
                "MANAGEDJOBS_KEEP_JOBS": "maybe",
                "MANAGEDJOBS_CONTROLLER_MEMORY_REQUEST": "lots",
                "MANAGEDJOBS_DEFAULT_POOL": '{"maxRunning": "x"}',
                "MANAGEDJOBS_LOG_LEVEL": "loud",
            }
        )
    lines = str(caught.value).splitlines()
    assert [line.partition("=")[0] for line in lines] == [
        "MANAGEDJOBS_LOG_LEVEL",
        "MANAGEDJOBS_CONTROLLER_MEMORY_REQUEST",
        "MANAGEDJOBS_KEEP_JOBS",
        "MANAGEDJOBS_DEFAULT_POOL",
        "MANAGEDJOBS_HEALTH_PORT",
    ]
