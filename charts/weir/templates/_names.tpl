{{/* Labels of every object. */}}
{{- define "weir.labels" -}}
app.kubernetes.io/part-of: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels by which objects of one component find each other: dict "name" NAME "root" $. */}}
{{- define "weir.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{/* The full name of an image, or how to get one: dict "name" operator|sidecar "root" $. */}}
{{- define "weir.image" -}}
{{- $image := get .root.Values.image .name -}}
{{- if not $image -}}
{{- printf "\n\nimage.%s is not set: Weir has no public registry, so the chart can't know where your images are.\nBuild and push both from a checkout, with a registry that your nodes can pull from:\n\n  tests/cluster/stage sidecar operator     # builds both and prints the folder of each\n  docker build -f charts/weir/Dockerfile --target sidecar  -t REGISTRY/weir-sidecar:%s  FOLDER\n  docker build -f charts/weir/Dockerfile --target operator -t REGISTRY/weir-operator:%s FOLDER\n  docker push REGISTRY/weir-sidecar:%s && docker push REGISTRY/weir-operator:%s\n\nand then\n\n  helm install ... --set image.operator=REGISTRY/weir-operator:%s --set image.sidecar=REGISTRY/weir-sidecar:%s\n" .name .root.Chart.AppVersion .root.Chart.AppVersion .root.Chart.AppVersion .root.Chart.AppVersion .root.Chart.AppVersion .root.Chart.AppVersion | fail -}}
{{- end -}}
{{- $image -}}
{{- end }}

{{/* Security context of every container of the chart: no user's, no privilege, nothing to write to. */}}
{{- define "weir.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
privileged: false
readOnlyRootFilesystem: true
runAsGroup: 65532
runAsNonRoot: true
runAsUser: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
