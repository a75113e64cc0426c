//! Names and numbers of what the injector puts into a pod. They are a contract with the sidecar's command line and with users.

pub(super) const SIDECAR: &str = "weir-sidecar";
pub(super) const REDIRECT: &str = "weir-redirect";
/// The program in the image; found through PATH.
pub(super) const PROGRAM: &str = "weir-sidecar";

pub(super) const POLICY_VOLUME: &str = "weir-policy";
pub(super) const STORE_VOLUME: &str = "weir-store";
pub(super) const NO_TOKEN_VOLUME: &str = "weir-no-token";
pub(super) const VOLUMES: [&str; 3] = [POLICY_VOLUME, STORE_VOLUME, NO_TOKEN_VOLUME];

pub(super) const POLICY_PATH: &str = "/etc/weir/policy";
pub(super) const STORE_PATH: &str = "/etc/weir/store";
/// Where the API server's ServiceAccount plugin mounts the token, unless something is mounted there already.
pub(super) const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Name of the ConfigMap that holds a namespace's policies, and of the entry with today's format.
pub(super) const POLICY_CONFIG_MAP: &str = "weir-policies";
pub(super) const POLICY_ENTRY: &str = "v1";
/// Name of the Secret that says how to reach the store.
pub(super) const STORE_SECRET: &str = "weir-store";

/// Where the redirect rules send captured connections.
pub(super) const CAPTURE_PORT: u16 = 15001;
/// Health, metrics and probes, on the pod's address.
pub(super) const ADMIN_PORT: u16 = 15020;
/// What only the pod itself may ask.
pub(super) const ADMIN_LOCAL_PORT: u16 = 15021;
pub(super) const RESERVED_PORTS: [u16; 3] = [CAPTURE_PORT, ADMIN_PORT, ADMIN_LOCAL_PORT];
/// Named-port routes listen at this plus the application's port modulo 10,000, or at the next free number.
pub(super) const ROUTE_BASE: u16 = 20000;

/// Who weir-sidecar runs as: the number that distroless images made customary for "nobody in particular".
pub(super) const SIDECAR_USER: u32 = 65532;
