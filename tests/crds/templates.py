"""Pod templates that use much of what a pod can have."""

from tests.crds.objects import Manifest

_PROBE: Manifest = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5}
_CONTAINER: Manifest = {
    "name": "main",
    "image": "busybox",
    "command": ["sh", "-c", "train"],
    # The same number twice is no mistake: the protocol makes the difference.
    "ports": [{"name": "http", "containerPort": 80}, {"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 1}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token", "optional": True}}},
    ],
    "envFrom": [{"configMapRef": {"name": "settings"}}],
    "resources": {
        "requests": {"cpu": "500m", "memory": "1.5Gi", "ephemeral-storage": "1e3"},
        "limits": {"cpu": 2, "memory": "2Gi", "nvidia.com/gpu": 1},
    },
    "volumeMounts": [
        {"name": "data", "mountPath": "/data"},
        {"name": "cache", "mountPath": "/cache", "readOnly": True},
    ],
    "livenessProbe": _PROBE,
    "readinessProbe": {"exec": {"command": ["true"]}},
    "startupProbe": {"tcpSocket": {"port": 80}, "failureThreshold": 30},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
}

FULL: Manifest = {
    "metadata": {
        "labels": {"app": "train"},
        "annotations": {"a/b": "c"},
    },
    "spec": {
        "restartPolicy": "Never",
        "containers": [_CONTAINER, {"name": "metrics", "image": "busybox"}],
        "initContainers": [{"name": "sidecar", "image": "busybox", "restartPolicy": "Always"}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "cache", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            {
                "name": "files",
                "projected": {"sources": [{"configMap": {"name": "c"}}, {"serviceAccountToken": {"path": "t"}}]},
            },
            {
                "name": "scratch",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "metadata": {"labels": {"type": "scratch"}},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
                    }
                },
            },
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "podAffinityTerm": {"topologyKey": "host", "labelSelector": {"matchLabels": {"a": "b"}}},
                    }
                ]
            },
        },
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "imagePullSecrets": [{"name": "registry"}],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
        "nodeSelector": {"pool": "gpu"},
        "serviceAccountName": "trainer",
        "terminationGracePeriodSeconds": 600,
        "activeDeadlineSeconds": 3600,
        "securityContext": {"fsGroup": 1000, "sysctls": [{"name": "net.a", "value": "1"}]},
        "priorityClassName": "low",
        "overhead": {"cpu": "10m"},
    },
}
