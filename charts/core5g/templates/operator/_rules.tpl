{{/* What accounts of network functions may do, in the namespace of their core. */}}
{{- define "core5g.rules.subscriber-data" -}}
- apiGroups: [core5g.dev]
  resources: [core5gs, slices, subscribers]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
# Sequence numbers are reserved in the Lease <core>-sequence-numbers. Cores have any name, so that none is named here.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
{{- end }}

{{- define "core5g.rules.session-management" -}}
- apiGroups: [core5g.dev]
  resources: [core5gs, slices, upfinstances]
  verbs: [get, list, watch]
{{- end }}

{{- define "core5g.rules.access-management" -}}
- apiGroups: [core5g.dev]
  resources: [core5gs]
  verbs: [get, list, watch]
{{- end }}
