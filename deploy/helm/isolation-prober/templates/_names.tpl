{{- define "prober.name" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "prober.selector" -}}
app.kubernetes.io/name: isolation-prober
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "prober.labels" -}}
{{ include "prober.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "prober.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "prober.config" -}}
{{- $api := dict "host" "0.0.0.0" "port" 8787 -}}
{{- if not .Values.config }}{{ fail "config: the prober's configuration is required, see docs/deployment.md" }}{{ end -}}
{{- $given := .Values.config -}}
{{- toYaml (merge (dict "api" (merge (deepCopy ($given.api | default dict)) $api)) (deepCopy $given)) -}}
{{- end -}}

{{- define "prober.container" -}}
image: {{ include "prober.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - name: PROBER_CONFIG
    value: /etc/prober/prober.yaml
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: config
    mountPath: /etc/prober
    readOnly: true
  - name: secret
    mountPath: /run/secrets/prober
    readOnly: true
  - name: state
    mountPath: /var/lib/prober
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "prober.pod" -}}
serviceAccountName: {{ include "prober.name" . }}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: config
    configMap:
      name: {{ include "prober.name" . }}
  - name: secret
    secret:
      secretName: {{ .Values.secret }}
      defaultMode: 288 # 0440: the group's, which is the prober's own
  - name: state
    {{- if .Values.persistence.enabled }}
    persistentVolumeClaim:
      claimName: {{ include "prober.name" . }}
    {{- else }}
    emptyDir: {}
    {{- end }}
  - name: tmp
    emptyDir: {}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
