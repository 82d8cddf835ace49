# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# awk -f cmake/public_names.awk <headers>: the public names of namespace sla, one declaration a line, as
#     <header>:<line> <tab> <kind> <tab> <name> <tab> <first sentence of its /// comment, or nothing>
# Public is what stands outside of namespaces detail and of classes, and is neither an operator, a specialisation, a deduction guide
# nor a declaration in advance; of namespace plans, the steps and plans (PascalCase): its functions search for them while compiling.
# Members come with their class. With -v check=1 it prints only the names of which no declaration has a comment.
function start_file() {
  depth = 0; spaces = 0; parens = 0; decl = ""; doc = ""; skip = 0; name_depth[0] = -1; ended = 0
}
# text without what stands from its first open bracket to the one that closes it
function drop_group(text, open, close_, at,    n, c, d) {
  d = 0
  for (n = at; n <= length(text); ++n) {
    c = substr(text, n, 1)
    if (c == open) ++d
    else if (c == close_ && substr(text, n - 1, 1) != "-" && --d == 0) break
  }
  return substr(text, 1, at - 1) " " substr(text, n + 1)
}
function inside_detail(    n) {
  for (n = 1; n <= spaces; ++n) if (space[n] ~ /detail/ || space[n] == "") return 1
  return spaces == 0 || space[1] !~ /^sla/
}
function prefix(    n, text) {
  for (n = 1; n <= spaces; ++n) text = text space[n] "::"
  sub(/^sla::/, "", text)
  return text
}
function tell(kind, name) {
  name = prefix() name
  if (name ~ /^plans::[a-z]/ && doc == "") return
  if (doc != "") documented[name] = 1
  else if (!(name in place)) { place[name] = FILENAME ":" first; bare[++names] = name }
  sub(/[.] [A-Z].*/, ".", doc)
  if (!check) print FILENAME ":" first "\t" kind "\t" name "\t" doc
}
# One declaration at the level of a namespace, up to its ; or its body.
function declare(text, has_body,    head, name, rest) {
  gsub(/\[\[[^]]*\]\]/, " ", text)
  gsub(/[ \t]+/, " ", text)
  sub(/^ /, "", text)
  while (text ~ /^template ?</) {
    text = drop_group(text, "<", ">", index(text, "<"))
    sub(/^template */, "", text)
    sub(/^ +/, "", text)
  }
  if (text == "" || text ~ /^(extern|friend|static_assert|using namespace|SLA_AS_CALLEE$)/ || text ~ /(^|[^a-zA-Z_0-9])operator[^a-zA-Z_0-9]/) return
  while (match(text, /(requires|decltype|alignas|explicit|noexcept|__launch_bounds__) ?\(/))
    text = drop_group(text, "(", ")", RSTART + RLENGTH - 1)
  sub(/^ +/, "", text)
  if (match(text, /(^| )concept [A-Za-z_0-9]+ =/)) {
    name = substr(text, RSTART, RLENGTH); sub(/^ *concept /, "", name); sub(/ =$/, "", name)
    tell("concept", name)
  } else if (match(text, /^using [A-Za-z_0-9]+ ?=/)) {
    name = substr(text, 7); sub(/ ?=.*/, "", name)
    tell("type", name)
  } else if (text ~ /^using /) {
    return
  } else if (match(text, /(^| )(struct|class|union|enum class|enum struct|enum) [A-Za-z_0-9]+ ?([:{]|final|$)/) && text !~ /^[^{]*\(/) {
    name = substr(text, RSTART, RLENGTH)
    sub(/^ */, "", name); kind = name ~ /^enum/ ? "enum" : "class"; sub(/^(struct|class|union|enum class|enum struct|enum) /, "", name); sub(/ ?(final|[:{]).*$/, "", name); sub(/ $/, "", name)
    if (has_body) tell(kind, name)
  } else if (text ~ /(^| )(struct|class|union) [A-Za-z_0-9:]+ ?</ && text !~ /\(/) {
    return
  } else {
    rest = text
    gsub(/\((min|max)\)/, " &", rest); gsub(/\(min\)/, "min", rest); gsub(/\(max\)/, "max", rest)
    if (rest ~ /^[^(]*=/ && rest !~ /^[^(=]*\(/ || rest !~ /\(/) {  # a variable
      sub(/ ?(=|\{).*/, "", rest); sub(/ $/, "", rest)
      if (rest ~ />$/ || rest !~ /(^| )(constexpr|const|inline|static|thread_local) /) return
      sub(/.*[ &*]/, "", rest)
      tell("value", rest)
      return
    }
    sub(/ ?\(.*/, "", rest)
    if (rest !~ /[ &*>]/) return  # a deduction guide
    sub(/.*[ &*>]/, "", rest)
    if (rest ~ /::/ || rest == "") return
    tell("function", rest)
  }
}
function open_brace(    text) {
  text = decl
  if (text ~ /(^|[ \t])namespace [a-z_:0-9A-Z]+[ \t]*$/) {
    sub(/.*namespace[ \t]+/, "", text); sub(/[ \t]+$/, "", text)
    ++spaces; space[spaces] = text; decl = ""; doc = ""
    return
  }
  skip = 1
  if (text ~ /requires[ \t]*(\([^()]*(\([^()]*\)[^()]*)*\))?[ \t]*$/ || text ~ /(^|[ \t])concept[ \t]/) { after = "go on"; return }
  if (text ~ /(^|[ \t])(struct|class|union|enum)[ \t]/ && text !~ /\)[ \t]*(const|noexcept|requires.*|->.*)?[ \t]*$/) { after = "semicolon"; return }
  if (text ~ /=[ \t]*(\[.*)?$/ || text !~ /\(/ || text ~ /^[^(]*=[^(]/) { after = "go on"; return }
  after = "end"
}
function finish(has_body) {
  if (!inside_detail()) declare(decl, has_body)
  decl = ""; doc = ""; body = 0
}
FNR == 1 { start_file() }
{
  line = $0
  if (line ~ /^[ \t]*#/ || continued) { continued = line ~ /\\$/; next }
  if (line ~ /^[ \t]*\/\/\//) {
    if (skip == 0) { sub(/^[ \t]*\/\/\/ ?/, "", line); doc = doc (doc == "" ? "" : " ") line }
    next
  }
  trailing = ""
  gsub(/\\"/, "", line)
  gsub(/"[^"]*"/, "\"\"", line)
  gsub(/'\\?.'/, "' '", line)
  if (match(line, /\/\/\/< ?/)) { trailing = substr(line, RSTART + RLENGTH); line = substr(line, 1, RSTART - 1) }
  sub(/\/\/.*/, "", line)
  if (trailing != "" && skip == 0 && doc == "") doc = trailing
  while (line != "") {
    if (skip == 0) {
      if (!match(line, /[{};()]/)) { if (decl !~ /[^ \t]/) first = FNR; decl = decl line; line = ""; break }
      if (decl !~ /[^ \t]/) first = FNR
      decl = decl substr(line, 1, RSTART - 1)
      c = substr(line, RSTART, 1)
      line = substr(line, RSTART + 1)
      if (c == "(") { ++parens; decl = decl c }
      else if (c == ")") { --parens; decl = decl c }
      else if (c == "{") { if (parens > 0) { skip = 1; after = "go on" } else open_brace() }
      else if (c == "}") { if (spaces > 0) --spaces; decl = ""; doc = "" }
      else if (parens == 0) finish(body)
    } else {
      if (!match(line, /[{}]/)) { line = ""; break }
      c = substr(line, RSTART, 1)
      line = substr(line, RSTART + 1)
      skip += c == "{" ? 1 : -1
      if (skip == 0) {
        if (after == "end") finish(1)
        else if (after == "semicolon") body = 1
        else decl = decl " "
      }
    }
  }
  if (decl != "") decl = decl " "
}
END {
  for (n = 1; n <= names; ++n)
    if (check && !(bare[n] in documented)) print place[bare[n]] ": sla::" bare[n] " has no comment: /// what it is, before it"
}
