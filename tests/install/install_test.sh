#!/usr/bin/env bash
# Installs a build into a folder of its own, and uses it as a stranger would: a second project
# finds the package, links both libraries, runs against the installed server; and the programs in
# examples/ are built in the same way.
#
#   install_test.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail

source_folder=$1
build_folder=$2
folder=$(mktemp -d "${TMPDIR:-/tmp}/carillon-install.XXXXXX")
prefix=$folder/prefix
tracker=
worker=

finish() {
  local process
  for process in $worker $tracker; do
    kill -TERM "$process" 2>/dev/null || true
    wait "$process" || true
  done
  rm -rf "$folder"
}
trap finish EXIT

fail() {
  echo "install: $*" >&2
  exit 1
}

# Configures and builds a project against the installed package only.
build() {
  local project=$1 name=$2
  cmake -S "$project" -B "$folder/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$prefix" -DCARILLON_PREFIX="$prefix" >"$folder/$name.log" 2>&1 ||
    { cat "$folder/$name.log" >&2; fail "$project does not configure"; }
  cmake --build "$folder/$name" >"$folder/$name.log" 2>&1 ||
    { cat "$folder/$name.log" >&2; fail "$project does not build"; }
}

cmake --install "$build_folder" --prefix "$prefix" >"$folder/install.log" ||
  fail "cmake --install failed"

for program in jobtracker tasktracker jobclient; do
  version=$("$prefix/bin/$program" --version) || fail "$program is not installed, or does not run"
  [[ $version == "$program "*" (carillon)" ]] || fail "$program --version says '$version'"
done
if grep -rIl -- "$source_folder" "$prefix/lib" "$prefix/include" 2>/dev/null; then
  fail "the files above name the source folder"
fi

# What CARILLON_HARDENING promises; what is not there is named.
for program in jobtracker tasktracker jobclient; do
  elf=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$prefix/bin/$program")
  for wanted in 'Type: +DYN .Position-Independent' 'GNU_RELRO' 'FLAGS_1.*NOW.*PIE' '__stack_chk_fail' \
    '__(memcpy|snprintf|read|vsnprintf)_chk'; do
    grep -Eq -- "$wanted" <<<"$elf" || fail "$program is not hardened: readelf shows no '$wanted'"
  done
  grep -Eq 'GNU_STACK.* RW +' <<<"$elf" || fail "$program has an executable stack"
done

# How much of the system the services reach, from 0 to 10: `systemd-analyze security`.
for unit in jobtracker tasktracker; do
  exposure=$(systemd-analyze security --offline=true --no-pager "$source_folder/packaging/systemd/$unit.service" |
    sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
  [[ $exposure =~ ^[0-2]\.[0-9]$ ]] || fail "$unit.service has the exposure level '$exposure', at least 3.0"
done

build "$source_folder/tests/install/consumer" consumer

"$prefix/bin/jobtracker" --listen tcp://127.0.0.1:0 --http off --data "$folder/data" \
  >"$folder/ready" 2>"$folder/jobtracker.log" &
tracker=$!
address=
for ((tries = 0; tries < 300; ++tries)); do
  address=$(sed -n 's/^jobtracker: ready .*listen=\([^ ]*\).*/\1/p' "$folder/ready")
  if [ -n "$address" ]; then break; fi
  kill -0 "$tracker" 2>/dev/null || break
  sleep 0.1
done
[ -n "$address" ] || { cat "$folder/jobtracker.log" >&2; fail "jobtracker did not become ready"; }

"$folder/consumer/consumer" "$address" || { tail -n 30 "$folder/jobtracker.log" >&2; fail "consumer"; }

# As the README says it: programs of the build on the PATH, the package in a folder of the system.
PATH="$build_folder/bin:$PATH" cmake -S "$source_folder/examples/submit" -B "$folder/on-path" -G Ninja \
  -DCMAKE_INSTALL_PREFIX="$prefix" >"$folder/on-path.log" 2>&1 ||
  { cat "$folder/on-path.log" >&2; fail "the package is not found beside the build's programs"; }

for name in submit worker; do build "$source_folder/examples/$name" "example-$name"; done

submitted=$("$folder/example-submit/example_submit" "$address") || fail "examples/submit failed"
[[ $submitted == *"accepted: task "* && $submitted == *"waiting:"* ]] ||
  fail "examples/submit says: $submitted"

: >"$folder/worker.ready"
"$folder/example-worker/example_worker" "$address" >"$folder/worker.ready" &
worker=$!
for ((tries = 0; tries < 100; ++tries)); do
  if grep -q '^worker: ready ' "$folder/worker.ready"; then break; fi
  sleep 0.1
done
output=$("$prefix/bin/jobclient" --tracker "$address" submit --group examples \
  --handler greet --param name=Ann --wait 2>&1) || fail "the job for examples/worker ended with status $?"
[[ $output == *"hello, Ann"* ]] || fail "examples/worker wrote: $output"
kill -TERM "$worker"
wait "$worker" || fail "examples/worker ended with status $?"
worker=
echo "install: package, consumer and both examples are good"
