{{/* Binds a policy of the same name: (dict "root" $ "name" "…" "paramNotFound" "Deny" | "Allow" or none, "keep" true after an uninstall). */}}
{{- define "managedjobs.policyBinding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "managedjobs.labels" (list .root "policies") | trim | nindent 4 }}
  {{- if .keep }}
  annotations: {helm.sh/resource-policy: keep}
  {{- end }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
  {{- with .paramNotFound }}
  paramRef:
    name: {{ include "managedjobs.leaseName" $.root }}
    namespace: {{ $.root.Release.Namespace }}
    parameterNotFoundAction: {{ . }}
  {{- end }}
{{- end -}}

{{/* Head of a policy: (dict "root" $ "name" "…", "keep" true after an uninstall). */}}
{{- define "managedjobs.policyHead" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels: {{- include "managedjobs.labels" (list .root "policies") | trim | nindent 4 }}
  {{- if .keep }}
  annotations: {helm.sh/resource-policy: keep}
  {{- end }}
{{- end -}}
