{{/* core5g.monitoring is "true" where objects of prometheus-operator are to be made. */}}
{{- define "core5g.monitoring" -}}
{{- if hasKey .Values "metrics" -}}
{{- fail "metrics is called monitoring now: write monitoring.enabled for metrics.podMonitor, monitoring.interval and monitoring.labels" -}}
{{- end -}}
{{- $known := .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor" -}}
{{- or (eq .Values.monitoring.enabled "Always") (and (eq .Values.monitoring.enabled "Auto") $known) -}}
{{- end }}

{{/* core5g.rules puts the values into a file of rules. It takes a dict of root and file. */}}
{{- define "core5g.rules" -}}
{{- $text := .root.Files.Get .file -}}
{{- range $name, $value := .root.Values.monitoring.alerts -}}
{{- $text = replace (printf "<alerts.%s>" $name) (toString $value) $text -}}
{{- end -}}
{{- if include "core5g.everywhere" .root -}}
{{- $text = replace "namespace=\"<namespace>\"" "namespace=~\".+\"" $text -}}
{{- end -}}
{{- with rest (include "core5g.namespaces" .root | fromJsonArray) -}}
{{- $text = replace "namespace=\"<namespace>\"" (printf "namespace=~\"%s\"" (prepend . $.root.Release.Namespace | join "|")) $text -}}
{{- end -}}
{{- $text = replace "<namespace>" .root.Release.Namespace $text -}}
{{- $text = replace "<runbooks>" (trimSuffix "/" .root.Values.monitoring.runbooks) $text -}}
{{- regexReplaceAll "(?m)^#.*\n" $text "" -}}
{{- end }}
