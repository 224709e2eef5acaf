{{/* The operator's settings. Values that are false, 0 or empty are written out: they mean something. */}}
{{- define "managedjobs.operatorEnv" -}}
- name: MANAGEDJOBS_POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- $secrets := list }}
{{- range .Values.imagePullSecrets }}{{ $secrets = append $secrets .name }}{{ end }}
{{- $env := list
  (list "MANAGEDJOBS_NAMESPACE" .Release.Namespace)
  (list "MANAGEDJOBS_LEASE_NAME" (include "managedjobs.leaseName" .))
  (list "MANAGEDJOBS_IMAGE" (include "managedjobs.image" .))
  (list "MANAGEDJOBS_IMAGE_PULL_POLICY" .Values.image.pullPolicy)
  (list "MANAGEDJOBS_IMAGE_PULL_SECRETS" (join "," $secrets))
  (list "MANAGEDJOBS_CONTROLLER_SERVICE_ACCOUNT" (include "managedjobs.serviceAccount" (list . "controller")))
  (list "MANAGEDJOBS_CONTROLLER_PRIORITY_CLASS" (include "managedjobs.controllerPriorityClass" .))
  (list "MANAGEDJOBS_CONTROLLER_CPU_REQUEST" (toString .Values.controller.resources.requests.cpu))
  (list "MANAGEDJOBS_CONTROLLER_MEMORY_REQUEST" (toString .Values.controller.resources.requests.memory))
  (list "MANAGEDJOBS_WORKLOAD_NAMESPACES" (join "," .Values.workloadNamespaces))
  (list "MANAGEDJOBS_HEALTH_PORT" (toString .Values.operator.healthPort))
  (list "MANAGEDJOBS_METRICS_PORT" (toString .Values.metrics.port))
  (list "MANAGEDJOBS_PROPAGATE_LABELS" (join "," .Values.propagate))
  (list "MANAGEDJOBS_KEEP_JOBS" (toString .Values.retention.keepJobs))
  (list "MANAGEDJOBS_LOG_LEVEL" .Values.logLevel)
  (list "MANAGEDJOBS_LOG_FORMAT" .Values.logFormat)
}}
{{- if kindIs "map" .Values.defaultPool }}
{{- $env = append $env (list "MANAGEDJOBS_DEFAULT_POOL" (toRawJson .Values.defaultPool)) }}
{{- end }}
{{- with .Values.proxy }}
{{- if .httpProxy }}{{ $env = append $env (list "HTTP_PROXY" .httpProxy) }}{{ end }}
{{- if .httpsProxy }}{{ $env = append $env (list "HTTPS_PROXY" .httpsProxy) }}{{ end }}
{{- if .noProxy }}{{ $env = append $env (list "NO_PROXY" .noProxy) }}{{ end }}
{{- end }}
{{- range $env }}
- name: {{ index . 0 }}
  value: {{ index . 1 | quote }}
{{- end }}
{{- with .Values.operator.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
