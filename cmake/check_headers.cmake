# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DINCLUDE=<include folder> -DHEADERS=<glob|...> [-DSKIP=<header|...>] -DCOMPILE=<compiler|flag|...> -DPRELUDE=<file> -DSCRATCH=<folder>
#       -P cmake/check_headers.cmake
# Each header of include/sla that matches compiles alone; and all of them together compile after PRELUDE, which defines the
# macros that users' code may have defined.
cmake_minimum_required(VERSION 3.24)
set(ENV{LC_ALL} C)
foreach(list IN ITEMS HEADERS SKIP COMPILE)
  string(REPLACE "|" ";" ${list} "${${list}}")
endforeach()
file(MAKE_DIRECTORY "${SCRATCH}")

function(check what text)
  string(MAKE_C_IDENTIFIER "${what}" name)
  file(WRITE "${SCRATCH}/${name}.cpp" "${text}")
  execute_process(COMMAND ${COMPILE} "${SCRATCH}/${name}.cpp" RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT rc EQUAL 0 OR out MATCHES "warning")
    string(REPLACE "\n" "\n  " out "\n${out}") # indented text is not wrapped
    message(SEND_ERROR "${what}:${out}")
  endif()
endfunction()

set(headers "")
foreach(glob IN LISTS HEADERS)
  if(glob MATCHES "\\*")
    file(GLOB_RECURSE found RELATIVE "${INCLUDE}" "${INCLUDE}/sla/${glob}")
  else()
    file(GLOB found RELATIVE "${INCLUDE}" "${INCLUDE}/sla/${glob}")
  endif()
  list(APPEND headers ${found})
endforeach()
if(SKIP)
  list(REMOVE_ITEM headers ${SKIP})
endif()
set(together "#include \"${PRELUDE}\"\n")
foreach(header IN LISTS headers)
  check("${header} alone" "#include <${header}>\n")
  string(APPEND together "#include <${header}>\n")
endforeach()
if(headers)
  check("${HEADERS} after the macros of ${PRELUDE}" "${together}")
endif()
