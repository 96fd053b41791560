# shellcheck shell=bash
# Installs what packaging/packages lists. Sourced by ./quickstart and ./check:
#
#   install_packages build run      installs what is missing of these sections
#
# Does nothing, and needs neither root nor network, when all of it is there. With
# CARILLON_SKIP_INSTALL=1 it trusts that it is.

packages_of() {
  local list=$1 section=$2
  awk -v wanted="[$section]" '
    /^[[:space:]]*(#|$)/ { next }
    /^\[/ { inside = ($1 == wanted); next }
    inside { print $1 }' "$list"
}

# Itself, or another package that provides it: as npm comes with some packages of nodejs.
is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
    dpkg-query -W -f='${db:Status-Status}, ${Provides},\n' |
    grep "^installed,.* $1[, ]" >/dev/null
}

install_packages() {
  local folder list section package missing=() as_root=()
  folder=$(dirname "${BASH_SOURCE[0]}")
  list=$folder/packages
  if [ "${CARILLON_SKIP_INSTALL:-}" = 1 ]; then return 0; fi

  local name=unknown
  if [ -r /etc/os-release ]; then
    name=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
  fi
  if [ "$name" != "debian 12" ]; then
    echo "packages: this is '$name', and Carillon's package list is for Debian 12" \
      "(install the like of packaging/packages yourself and set CARILLON_SKIP_INSTALL=1)" >&2
    return 1
  fi

  for section in "$@"; do
    for package in $(packages_of "$list" "$section"); do
      is_installed "$package" || missing+=("$package")
    done
  done
  if [ "${#missing[@]}" = 0 ]; then return 0; fi

  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "packages: missing: ${missing[*]}" >&2
      echo "packages: installing them needs root, and there is no sudo (as root:" \
        "apt-get install --no-install-recommends ${missing[*]})" >&2
      return 1
    fi
    as_root=(sudo)
    # Nobody is there to type a password.
    if [ ! -t 0 ]; then as_root+=(-n); fi
  fi
  echo "Installing ${#missing[@]} packages: ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  if ! "${apt[@]}" update >/dev/null; then
    echo "packages: apt-get update failed (is there a network, and may you use sudo?)" >&2
    return 1
  fi
  if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null; then
    echo "packages: apt-get could not install ${missing[*]} (its reasons stand above; is there a network?)" >&2
    return 1
  fi
}
