#!/bin/sh
# Makes the zones of a primary with catalog zones, in the present folder:
#
#   catalog.sh NUMBER... MOST
#
# zones.conf        what a BIND includes
# member            the content of each member zone: MOST of them, m0.members.example and so on, and new1 to new1000
# catalog-NUMBER    for each number: a catalog of the first so many; the new ones are in none
# large             large.example, ten thousand records
# change-members N  a script: puts N new zones into the catalog of the server, or takes them out again, in turn; with
#                   `add` or `del` after N always the one
# change-large      a script: changes a record of the large zone
#
# The scripts are for the events of an experiment: helper `primary`, and a server that is a secondary. CATALOG_VERSION=1
# makes catalogs that BIND before 9.18.3 reads too.
set -eu
for most; do :; done
rm -f zones.conf in-* ./*.jnl

names() { seq -f "$1%.0f" "$2" "$3"; }
{ names m 0 $((most - 1)); names new 1 1000; } | awk -v at="$PWD" \
    '{ print "zone \"" $1 ".members.example\" { type primary; file \"" at "/member\"; };" }' > zones.conf
changeable() {
    printf 'zone "%s.example" { type primary; file "%s/%s"; allow-update { any; }; };\n' "$1" "$PWD" "$1" >> zones.conf
}
printf '$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.80\n' > member
{ cat member; seq -f "host%.0f A 192.0.2.80" 1 10000; } > large
changeable large
for number; do
    printf '$TTL 0\n@ SOA invalid. invalid. 1 3600 600 86400 0\n@ NS invalid.\nversion TXT "%s"\n' \
        "${CATALOG_VERSION:-2}" > "catalog-$number"
    names m 0 $((number - 1)) | awk '{ print $1 ".zones PTR " $1 ".members.example." }' >> "catalog-$number"
    changeable "catalog-$number"
done

# Sends the lines of its input to the primary, and tells the secondary.
cat > send-update <<'END'
{ echo "server $DNSDYNO_PRIMARY_ADDRESS $DNSDYNO_PRIMARY_PORT"; echo "zone $1"; cat; echo send; echo quit; } |
    knsupdate -v && kdig "@$DNSDYNO_SERVER_ADDRESS" -p "$DNSDYNO_SERVER_PORT" "$1" NOTIFY | grep -q 'status: NOERROR'
END
cat > change-members <<'END'
if [ -e "in-$1" ]; then what=del; else what=add; fi
what=${2:-$what}
case $what in add) touch "in-$1" ;; *) rm -f "in-$1" ;; esac
catalog=$(grep -o 'catalog-[0-9][0-9]*' "$DNSDYNO_SERVER_FOLDER/server.conf" | head -n 1).example.
seq 1 "$1" | awk -v what="$what" -v c="$catalog" \
    '{ print "update " what " new" $1 ".zones." c " 0 PTR new" $1 ".members.example." }' | sh send-update "$catalog"
END
cat > change-large <<'END'
echo "update add now.large.example. 0 TXT $(date +%s%N)" | sh send-update large.example.
END
