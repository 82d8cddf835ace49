# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A header as doxygen reads it: in the group of its floor, its first comment that of the file, and Law, Cost, Errors, Gradient,
# Placement and Memory as paragraphs with titles.
function titled(line, indent,    out) {
  out = line
  gsub(/(^|[^A-Za-z`])(Law|Cost|Errors|Gradient|Placement|Memory|Setup|Options): /, "&@@", out)
  while (match(out, /(Law|Cost|Errors|Gradient|Placement|Memory|Setup|Options): @@/))
    out = substr(out, 1, RSTART - 1) "\n" indent "/// @par " substr(out, RSTART, RLENGTH - 4) "\n" indent "/// " substr(out, RSTART + RLENGTH)
  return out
}
FNR == 1 {
  path = FILENAME
  sub(/.*include\/sla\//, "", path)
  floor = path
  if (floor ~ /^[a-z]+[.]hpp$/) floor = "doors"
  sub(/\/.*/, "", floor)
  print "/// @file " path
  next
}
!begun && /^\/\// { sub(/^\/\//, "///"); print; next }
{ begun = 1 }
/^namespace [a-z:_0-9]+ *[{]/ && $2 !~ /detail/ { print; print "/// @addtogroup " floor; print "/// @{"; next }
/^[}] \/\/ namespace/ && $4 !~ /detail/ { print "/// @}"; print; next }
/^[ \t]*\/\/\/[^<]/ {
  indent = $0
  sub(/\/\/\/.*/, "", indent)
  print titled($0, indent)
  next
}
{ print }
