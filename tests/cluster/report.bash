# Sourced: how the scripts here tell a person what they do. Everything goes to standard error, so that standard output stays
# for results.

# say LINE… : progress
say() { printf "%s\n" "$@" >&2; }

# fail TEXT… : what is wrong and what to do about it; ends the script
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# took START : seconds since START, a value of $EPOCHREALTIME, with one decimal
took() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# usage : prints the comment that opens the running script
_script=$(realpath "$0")
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$_script"; }

# wanted_help ARGUMENT : whether that asks for help
wanted_help() { [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; }

# === phases: what each run is made of, and how long each part took ===
phase_names=() phase_seconds=() phase_results=()

# phase NAME COMMAND… : runs it, says its seconds and whether it failed, and returns 0 all the same; see `phases_failed`.
# The command runs in a subshell of its own that ends at its first failure.
phase() {
  local name=$1 start=$EPOCHREALTIME status errexit=$-; shift
  say "" "=== $name"
  set +e
  (set -e; "$@")
  status=$?
  [[ $errexit != *e* ]] || set -e
  phase_names+=("$name")
  phase_seconds+=("$(took "$start")")
  if [ $status = 0 ]; then phase_results+=(ok); else phase_results+=(FAILED); fi
  say "--- $name: ${phase_results[-1]}, ${phase_seconds[-1]} s"
}

# phases_failed : prints the names of those that failed; true when there are any
phases_failed() {
  local i failed=1
  for i in "${!phase_names[@]}"; do
    [ "${phase_results[$i]}" = ok ] || { echo "${phase_names[$i]}"; failed=0; }
  done
  return $failed
}

# phase_table : all of them with their seconds
phase_table() {
  local i
  for i in "${!phase_names[@]}"; do
    printf '%8s s  %-6s  %s\n' "${phase_seconds[$i]}" "${phase_results[$i]}" "${phase_names[$i]}"
  done
}
