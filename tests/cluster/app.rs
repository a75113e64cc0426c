//! A namespace of a test's own with the sample application in it.
use crate::wait::until;
use crate::world::World;
use serde_json::Value;

/// A namespace that goes when the test ends, however it ends.
pub(crate) struct Namespace<'w> {
    pub(crate) name: String,
    pub(crate) world: &'w World,
}

/// What a test may want otherwise than usual in the sample application.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) name: &'static str,
    pub(crate) replicas: usize,
    /// YAML flow lines of the pod's annotations.
    pub(crate) annotations: String,
    /// YAML lines of the container, at its own indent of 0; ports and probes stand here.
    pub(crate) container: String,
    /// Fields of the pod's spec, at an indent of 0.
    pub(crate) pod: String,
}

impl Default for App {
    fn default() -> App {
        App {
            name: "shop",
            replicas: 1,
            annotations: r#"weir.dev/inject: "true""#.into(),
            container: "ports: [{name: http, containerPort: 8080}]\n\
                        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1}"
                .into(),
            pod: String::new(),
        }
    }
}

impl<'w> Namespace<'w> {
    /// Makes the namespace `weir-test-NAME`, after removing what an earlier run left of it.
    pub(crate) fn new(world: &'w World, name: &str, labels: &str) -> Namespace<'w> {
        let name = format!("weir-test-{name}");
        let _ = world.try_kubectl(&["delete", "namespace", &name, "--ignore-not-found", "--timeout=60s"]);
        world.apply(
            "default",
            &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n"),
        );
        Namespace { name, world }
    }

    pub(crate) fn apply(&self, yaml: &str) -> String {
        self.world.apply(&self.name, yaml)
    }

    pub(crate) fn get(&self, what: &[&str]) -> Value {
        self.world.get(&self.name, what).unwrap_or_else(|e| panic!("kubectl get {what:?}: {e}"))
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.world.kubectl(&[&["-n", &self.name], arguments].concat())
    }

    /// Deploys the application with a Service on port 80 and waits until it is rolled out.
    pub(crate) fn deploy(&self, app: &App) {
        self.apply(&self.manifest(app));
        self.rolled_out(app);
    }

    pub(crate) fn rolled_out(&self, app: &App) {
        let deployment = format!("deployment/{}", app.name);
        if let Err(said) =
            self.world.try_kubectl(&["-n", &self.name, "rollout", "status", &deployment, "--timeout=90s"])
        {
            let pods = self.kubectl(&["get", "pods", "-o", "yaml"]);
            panic!("{deployment} is not rolled out: {said}\n{pods}");
        }
    }

    /// The Deployment and the Service.
    pub(crate) fn manifest(&self, app: &App) -> String {
        let (name, replicas, annotations) = (app.name, app.replicas, &app.annotations);
        let container = app.container.replace('\n', "\n        ");
        let pod = app.pod.replace('\n', "\n      ");
        let image = self.world.image("echo");
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata:
      labels: {{app: {name}}}
      annotations: {{{annotations}}}
    spec:
      terminationGracePeriodSeconds: 10
      {pod}
      containers:
      - name: app
        image: {image}
        imagePullPolicy: Never
        args: [serve, --listen, \"0.0.0.0:8080\"]
        {container}
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec:
  selector: {{app: {name}}}
  ports: [{{name: http, port: 80, targetPort: http}}]
"
        )
    }

    /// `http://<address of the Service>/PATH`, once the Service takes connections.
    ///
    /// A pod is ready, and heard by the operator, some time before the node's rules lead the Service to it; requests sent in
    /// between reach nobody. Connections that carry nothing are not counted by any limit.
    pub(crate) fn service_url(&self, app: &App, path: &str) -> String {
        let service = self.get(&["service", app.name]);
        let address = service["spec"]["clusterIP"].as_str().expect("a Service has an address");
        until(&format!("the Service {} takes connections", app.name), || self.world.try_connect(address, 80));
        format!("http://{address}{path}")
    }

    /// The application's pods that are not going away.
    pub(crate) fn pods(&self, app: &App) -> Vec<Value> {
        let list = self.get(&["pods", "-l", &format!("app={}", app.name)]);
        let pods = list["items"].as_array().cloned().unwrap_or_default();
        pods.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect()
    }

    /// `http://<address of each pod>:PORT/PATH`.
    pub(crate) fn pod_urls(&self, app: &App, port: u16, path: &str) -> Vec<String> {
        let address =
            |pod: &Value| format!("http://{}:{port}{path}", pod["status"]["podIP"].as_str().unwrap_or("none"));
        self.pods(app).iter().map(address).collect()
    }

    /// The named condition of a policy, once it has the wanted status; with the whole object when it never does.
    pub(crate) fn condition(&self, policy: &str, kind: &str, status: &str) -> Value {
        until(&format!("{policy}: {kind}={status}"), || {
            let object = self.world.get(&self.name, &["ratelimitpolicy", policy])?;
            let generation = &object["metadata"]["generation"];
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let found = conditions.into_iter().find(|c| c["type"] == kind);
            found
                .filter(|c| c["status"] == status && c["observedGeneration"] == *generation)
                .ok_or_else(|| object["status"].to_string())
        })
    }

    /// Restarts of the named container over all the application's pods.
    pub(crate) fn restarts(&self, app: &App, container: &str) -> i64 {
        let of = |pod: &Value| -> i64 {
            let statuses = [&pod["status"]["containerStatuses"], &pod["status"]["initContainerStatuses"]];
            let all = statuses.into_iter().filter_map(Value::as_array).flatten();
            all.filter(|c| c["name"] == container).filter_map(|c| c["restartCount"].as_i64()).sum()
        };
        self.pods(app).iter().map(of).sum()
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        // Not waited for: the next namespace has another name.
        let _ = self.world.try_kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
    }
}
