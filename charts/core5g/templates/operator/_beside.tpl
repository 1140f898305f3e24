{{/* Operators beside each other. Two that act in one namespace would change the same objects. Helm refuses that where both releases have an object of one name (rbac.yaml);
that one of them is for all, or has the namespace as its own, only the cluster knows: other operators there have a ClusterRoleBinding with their labels, and a Deployment that says where
they act. One without replicas acts nowhere: so is an operator handed to another release. Where there is no cluster to ask (helm template, Argo CD) nothing is found. */}}
{{- define "core5g.beside" -}}
{{- $own := include "core5g.operator" . }}
{{- $namespaces := include "core5g.namespaces" . | fromJsonArray }}
{{- range $binding := (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items }}
{{- $labels := $binding.metadata.labels | default dict }}
{{- if and (eq (get $labels "app.kubernetes.io/name") "core5g") (eq (get $labels "app.kubernetes.io/component") "operator") $binding.subjects }}
{{- $who := first $binding.subjects }}
{{- if not (and (eq $who.name $own) (eq $who.namespace $.Release.Namespace)) }}
{{- with lookup "apps/v1" "Deployment" $who.namespace $who.name }}
{{- if gt (int .spec.replicas) 0 }}
{{- $theirs := list $who.namespace }}
{{- range (first .spec.template.spec.containers).args }}
{{- if hasPrefix "--watch-namespaces=" . }}
{{- $theirs = concat $theirs (splitList "," (trimPrefix "--watch-namespaces=" .)) }}
{{- end }}
{{- end }}
{{- $where := list }}
{{- range $theirs }}
{{- if or (include "core5g.everywhere" $) (has . $namespaces) }}
{{- $where = append $where . }}
{{- end }}
{{- end }}
{{- if has "*" $theirs }}
{{- $where = list "all namespaces" }}
{{- end }}
{{- if $where }}
{{- fail (printf "operator %s of namespace %s acts in %s, where this one is to act too, and both would change the same objects: write other operator.watchNamespaces, uninstall one of them, or give that release operator.replicas=0 before this one takes over" $who.name $who.namespace (join ", " (uniq $where))) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
