# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DSOURCE=<file> -DCOMPILERS=<compiler|flag|...^compiler|flag|...> -P cmake/compile_fail.cmake
# A wrong program must be refused by each compiler with exactly one error, in at most 25 lines that hold every
# "// expect-error: <regex>" of the file; with FIXED defined it must compile, which the first compiler answers for all.
cmake_minimum_required(VERSION 3.24)
set(ENV{LC_ALL} C)
file(STRINGS "${SOURCE}" wanted REGEX "// expect-error: ")
if(NOT wanted)
  message(FATAL_ERROR "${SOURCE} has no line // expect-error: <regex>")
endif()

function(complain text)
  string(REPLACE "\n" "\n  " indented "\n${out}") # indented text is not wrapped
  message(SEND_ERROR "${SOURCE}\n${compiler}: ${text}:${indented}")
endfunction()

string(REPLACE "^" ";" commands "${COMPILERS}")
set(fixed -DFIXED)
foreach(command IN LISTS commands)
  string(REPLACE "|" ";" command "${command}")
  list(GET command 0 compiler)

  if(fixed)
    execute_process(COMMAND ${command} ${fixed} "${SOURCE}" RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT rc EQUAL 0)
      complain("does not compile even with FIXED defined")
    endif()
    set(fixed "")
  endif()

  execute_process(COMMAND ${command} "${SOURCE}" RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(rc EQUAL 0)
    complain("compiles, but must not")
    continue()
  endif()
  foreach(line IN LISTS wanted)
    string(REGEX REPLACE ".*// expect-error: " "" regex "${line}")
    if(NOT out MATCHES "${regex}")
      complain("no line matches '${regex}'")
    endif()
  endforeach()
  string(REGEX MATCHALL "error: |error #|: error " errors "${out}")
  string(REGEX MATCHALL "\n" newlines "${out}")
  list(LENGTH errors error_count)
  list(LENGTH newlines line_count)
  if(NOT error_count EQUAL 1 OR line_count GREATER 25)
    complain("${error_count} errors in ${line_count} lines; one error in at most 25 lines is the rule")
  endif()
endforeach()
