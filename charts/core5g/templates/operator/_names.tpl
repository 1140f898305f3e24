{{/* core5g.operated is "true" where the release has an operator: always in chart core5g-operator, which has these templates too,
and in chart core5g unless operator.create is false. With --reuse-values of a release from before there was that value it has one. */}}
{{- define "core5g.operated" -}}
{{- if or (eq .Chart.Name "core5g-operator") (ne (get .Values.operator "create" | toString) "false") -}}true{{- end -}}
{{- end }}

{{/* A release of chart core5g-operator is often called so itself. */}}
{{- define "core5g.operator" -}}
{{- $own := and (eq .Chart.Name "core5g-operator") (or (eq .Release.Name "operator") (hasSuffix "-operator" .Release.Name)) -}}
{{ ternary .Release.Name (printf "%s-operator" .Release.Name) $own | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The webhook's Service, Secret and, behind the namespace, its configuration. */}}
{{- define "core5g.webhook" -}}
{{ printf "%s-webhook" (include "core5g.operator" . | trunc 52 | trimSuffix "-") }}
{{- end }}

{{/* core5g.labels takes a dict of root and component. */}}
{{- define "core5g.labels" -}}
{{ include "core5g.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "core5g.selector" -}}
app.kubernetes.io/name: core5g
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "core5g.operatorImage" -}}
{{ .Values.operator.image | default (include "core5g.image" (dict "root" . "name" "operator")) }}
{{- end }}

{{/* core5g.image takes a dict of root and name; with the digest where that of the tag is known. */}}
{{- define "core5g.image" -}}
{{- $images := .root.Values.images -}}
{{ printf "%s/%s:%s" $images.registry .name $images.tag }}
{{- with index ($images.digests | default dict) $images.tag -}}
{{- with index . $.name }}@{{ . }}{{ end -}}
{{- end -}}
{{- end }}

{{/* What every pod of the chart runs with: Pod Security level "restricted", and a read-only root. */}}
{{- define "core5g.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "core5g.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "core5g.pullSecrets" -}}
{{- with .Values.images.pullSecrets -}}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where the operator and the chart's jobs may run. */}}
{{- define "core5g.placement" -}}
{{- with .Values.operator.nodeSelector -}}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{ end }}
{{- with .Values.operator.tolerations -}}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the chart has made what the operator and network functions may do, as a JSON list: the release's namespace, and then those that operator.watchNamespaces
names. The operator acts in these, or with "*" among them everywhere. */}}
{{- define "core5g.namespaces" -}}
{{ prepend (without (.Values.operator.watchNamespaces | default list) .Release.Namespace "*" | sortAlpha) .Release.Namespace | toJson }}
{{- end }}

{{- define "core5g.everywhere" -}}
{{- if has "*" (.Values.operator.watchNamespaces | default list) }}true{{ end -}}
{{- end }}

{{/* What the names of ClusterRoles begin with that accounts of functions are given everywhere. */}}
{{- define "core5g.accountRoles" -}}
{{ .Release.Namespace }}-
{{- end }}
