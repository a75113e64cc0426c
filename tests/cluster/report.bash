# Sourced: how the scripts here tell a person what they do. Everything goes to standard error, so that standard output stays
# for results.

# say TEXT… : one line of progress
say() { printf '%s\n' "$*" >&2; }

# fail TEXT… : what is wrong and what to do about it; ends the script
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# took START : seconds since START, a value of $EPOCHREALTIME, with one decimal
took() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# usage : prints the comment that opens the running script
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; }

# wanted_help ARGUMENT : whether that asks for help
wanted_help() { [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; }
