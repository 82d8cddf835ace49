# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DINCLUDE=<include folder> -DHEADERS=<glob|...> -DSKIP=<header|...> -DCOMPILE=<compiler|flag|...> -DSCRATCH=<folder>
#       [-DPRELUDE=<file>] -P cmake/check_headers.cmake
# Each header of include/sla that matches compiles alone; or, with PRELUDE, all of them compile together after that file.
cmake_minimum_required(VERSION 3.24)
set(ENV{LC_ALL} C)
foreach(list IN ITEMS HEADERS SKIP COMPILE)
  string(REPLACE "|" ";" ${list} "${${list}}")
endforeach()

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
  if(PRELUDE)
    string(APPEND together "#include <${header}>\n")
  else()
    check("${header}" "#include <${header}>\n")
  endif()
endforeach()
if(PRELUDE)
  check("all headers after ${PRELUDE}" "${together}")
endif()
