# Sourced with a state folder as argument: the names that a cluster has outside its own namespaces. They derive from the
# folder, so that clusters of two folders run side by side and what a dead run left can be found again.

# one cluster's folder, absolute, existing or not
state=$(realpath -m "${1:?state folder}")
id=$(printf %s "$state" | sha256sum | cut -c1-8)

netns=weir-$id                # network namespace, in /run/netns
veth=wr$id                    # the host's end of the wire into it
cgroup=weir-$id               # below which all pods run, in each cgroup hierarchy
run=/run/weir-$id             # sockets, whose paths must be short
socket=$run/containerd.sock

# one of the 32768 networks of four addresses in 198.18.0.0/15, the range set aside for test networks
_n=$((0x$id % 32768))
_prefix=198.$((18 + _n / 16384)).$((_n / 64 % 256))
host_ip=$_prefix.$((_n % 64 * 4 + 1))
node_ip=$_prefix.$((_n % 64 * 4 + 2))

# a proxy for the outside world can't reach them
export NO_PROXY="$node_ip,198.18.0.0/15${NO_PROXY:+,$NO_PROXY}"
export no_proxy=$NO_PROXY

# alive : whether the cluster's first process runs; by pid and start time, since pids come again
alive() {
  local pid start now
  [ -e "$state/init" ] && read -r pid start <"$state/init" || return 1
  now=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$pid/stat" 2>/dev/null) || return 1
  [ "$now" = "$start" ]
}

# cgroup_folders : the cluster's folder in each hierarchy (one with cgroup v2)
cgroup_folders() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/$cgroup"
  else
    awk -v c="$cgroup" '$3 ~ /^cgroup2?$/ { print $2 "/" c }' /proc/mounts
  fi
}
