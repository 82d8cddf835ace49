# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DHEADERS=<header|...> -DCOMPILE=<compiler|flag|...> -DFOLDER=<folder> -P cmake/precompile.cmake
# Compiles each header: g++ and clang read FOLDER/<name>.gch where they are told -include FOLDER/<name>.
cmake_minimum_required(VERSION 3.24)
string(REPLACE "|" ";" HEADERS "${HEADERS}")
string(REPLACE "|" ";" command "${COMPILE}")
list(REMOVE_ITEM command -fsyntax-only)
foreach(header IN LISTS HEADERS)
  string(MAKE_C_IDENTIFIER "${header}" name)
  file(WRITE "${FOLDER}/${name}" "#include <${header}>\n")
  execute_process(COMMAND ${command} -x c++-header "${FOLDER}/${name}" -o "${FOLDER}/${name}.gch" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
