{{/* core5g.core is the spec of the Core5G, as YAML: what the values say, and above it images, log level and policies of the release. */}}
{{- define "core5g.core" -}}
{{- $images := dict "registry" .Values.images.registry "tag" .Values.images.tag "pullPolicy" .Values.images.pullPolicy }}
{{- $secrets := list }}
{{- range .Values.images.pullSecrets }}
{{- $secrets = append $secrets (dict "name" .) }}
{{- end }}
{{- if $secrets }}
{{- $images = set $images "pullSecrets" $secrets }}
{{- end }}
{{- $own := deepCopy .Values.core.spec }}
{{- if not $own.tls }}
{{- $own = omit $own "tls" }}
{{- end }}
{{- toYaml (merge $own (dict "images" $images "logLevel" .Values.logLevel "networkPolicy" (.Values.networkPolicy | default dict))) }}
{{- end }}

{{/* core5g.upf is the spec of the UPFInstance. */}}
{{- define "core5g.upf" -}}
{{- toYaml (merge (deepCopy .Values.upf.spec) (dict "coreRef" (dict "name" .Values.core.name))) }}
{{- end }}

{{/* core5g.instanceMetadata takes a dict of root, component and keep. The label core5g.dev/release says whose object it is to the jobs of
other releases, and to those of this one if it is given its operator back. */}}
{{- define "core5g.instanceMetadata" -}}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "core5g.labels" (dict "root" .root "component" .component) | nindent 2 }}
  core5g.dev/release: {{ .root.Release.Name }}
{{- if .keep }}
annotations:
  helm.sh/resource-policy: keep
  argocd.argoproj.io/sync-options: Delete=false,Prune=false
{{- end }}
{{- end }}
