# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The page of names, of the lines of cmake/public_names.awk.
BEGIN {
  print "# Names {#names}\n\nEvery public name of namespace `sla`, by floor and header, in reading order."
}
{
  header = $1
  sub(/:[0-9]+$/, "", header)
  sub(/^include\//, "", header)
  floor = header
  if (floor ~ /^sla\/[a-z]+[.]hpp/) floor = "doors"
  sub(/^sla\//, "", floor)
  sub(/\/.*/, "", floor)
  if (($3, floor) in said) {  # an overload
    if (said[$3, floor] == "" && $4 != "") text[at[$3, floor]] = (said[$3, floor] = $4)
    next
  }
  said[$3, floor] = $4
  at[$3, floor] = ++lines
  text[lines] = $4; name[lines] = $3; kind[lines] = $2; of_header[lines] = header; of_floor[lines] = floor
  if (!(floor in seen)) { seen[floor] = 1; floors[++count] = floor }
}
END {
  for (f = 1; f <= count; ++f) {
    print "\n## " floors[f] " {#names_" floors[f] "}\n"
    before = ""
    for (n = 1; n <= lines; ++n) {
      if (of_floor[n] != floors[f] || text[n] == "") continue  # an overload of a higher floor: as said where the name is first
      if (of_header[n] != before) print "\n`#include <" of_header[n] ">`\n"
      before = of_header[n]
      print "- \\ref sla::" name[n] " \"" name[n] "\" (" kind[n] "): " text[n]
    }
  }
}
