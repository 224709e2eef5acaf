{{/* Base of all names. Cluster-scoped objects carry it too, so that it must differ between releases. */}}
{{- define "managedjobs.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 28 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object: (list $ "component"). */}}
{{- define "managedjobs.labels" -}}
{{- $root := index . 0 -}}
{{- range $key, $value := $root.Values.commonLabels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{ include "managedjobs.selector" . }}
{{- end -}}

{{/* Labels that find the pods of a component: (list $ "component"). Never changes: a Deployment's selector is immutable. */}}
{{- define "managedjobs.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels that the operator puts on controller pods; they know no release. */}}
{{- define "managedjobs.controllerPodLabels" -}}
app.kubernetes.io/name: managedjobs
app.kubernetes.io/component: controller
{{- end -}}

{{- define "managedjobs.image" -}}
{{- $image := .Values.image -}}
{{- $name := $image.repository -}}
{{- if $image.registry }}{{ $name = printf "%s/%s" $image.registry $image.repository }}{{ end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Name of a ServiceAccount: (list $ "operator" | "controller"). */}}
{{- define "managedjobs.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $account := index $root.Values.serviceAccount $component -}}
{{- if and (not $account.create) (not $account.name) -}}
{{- fail (printf "serviceAccount.%s.create is false: set serviceAccount.%s.name to an account that exists in %s" $component $component $root.Release.Namespace) -}}
{{- end -}}
{{- $account.name | default (printf "%s-%s" (include "managedjobs.fullname" $root) $component) -}}
{{- end -}}

{{/* The account as the API server names it in a request: (list $ "operator" | "controller"). */}}
{{- define "managedjobs.username" -}}
{{- printf "system:serviceaccount:%s:%s" (index . 0).Release.Namespace (include "managedjobs.serviceAccount" .) -}}
{{- end -}}

{{- define "managedjobs.leaseName" -}}
{{ include "managedjobs.fullname" . }}-operator
{{- end -}}

{{/* PriorityClass of controller pods, or nothing. */}}
{{- define "managedjobs.controllerPriorityClass" -}}
{{- if .Values.controller.priorityClassName -}}
{{ .Values.controller.priorityClassName }}
{{- else if .Values.controller.priorityClass.create -}}
{{ include "managedjobs.fullname" . }}-controller
{{- end -}}
{{- end -}}

{{/*
Binds a ClusterRole to an account where ManagedJobs are run: everywhere, or in each of workloadNamespaces.
(dict "root" $ "component" "operator" "role" "name")
*/}}
{{- define "managedjobs.workloadBindings" -}}
{{- $root := .root -}}
{{- $context := . -}}
{{- $namespaces := $root.Values.workloadNamespaces | default (list "") -}}
{{- range $namespace := $namespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (ne $namespace "") }}
metadata:
  name: {{ $context.role }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "managedjobs.labels" (list $root $context.component) | trim | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $context.role }}
subjects:
  - kind: ServiceAccount
    name: {{ include "managedjobs.serviceAccount" (list $root $context.component) }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end -}}
