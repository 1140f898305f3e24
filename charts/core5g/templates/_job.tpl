{{/* core5g.job is a hook that runs the operator image; it takes a dict of root, name, hooks, args,
deadline (seconds) and, optionally, configMap (mounted at /etc/core5g/defaults). */}}
{{- define "core5g.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "core5g.labels" (dict "root" .root "component" .name) | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hooks }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-output-log-policy: hook-failed
spec:
  # The program tries again by itself until its own time is up, and its exit status 1 or 2 is final. A pod
  # that the node could not start, or has ended, is made again.
  backoffLimit: 2
  podFailurePolicy:
    rules:
      - action: FailJob
        onExitCodes: {operator: In, values: [1, 2]}
  activeDeadlineSeconds: {{ .deadline }}
  template:
    metadata:
      labels:
        {{- include "core5g.selector" (dict "root" .root "component" .name) | nindent 8 }}
    spec:
      serviceAccountName: {{ .root.Release.Name }}-release
      restartPolicy: Never
      {{- with include "core5g.pullSecrets" .root }}
      {{- . | nindent 6 }}
      {{- end }}
      securityContext:
        {{- include "core5g.podSecurityContext" .root | nindent 8 }}
      containers:
        - name: {{ .name }}
          image: {{ include "core5g.operatorImage" .root }}
          imagePullPolicy: {{ .root.Values.images.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          resources:
            requests:
              cpu: 10m
              memory: 32Mi
            limits:
              memory: 128Mi
          securityContext:
            {{- include "core5g.containerSecurityContext" .root | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          {{- if .configMap }}
          volumeMounts:
            - {name: defaults, mountPath: /etc/core5g/defaults, readOnly: true}
          {{- end }}
      {{- if .configMap }}
      volumes:
        - name: defaults
          configMap:
            name: {{ .configMap }}
      {{- end }}
      {{- with include "core5g.placement" .root }}
      {{- . | nindent 6 }}
      {{- end }}
{{- end }}
