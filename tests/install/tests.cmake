# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A consumer project against an installed tree and as a subdirectory; what is missing is refused with a sentence.
set(prefix "${CMAKE_CURRENT_BINARY_DIR}/install/prefix")
add_test(NAME install.install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${prefix})
set_tests_properties(install.install PROPERTIES FIXTURES_SETUP installed LABELS install)

# sla_consume(<name> <sentence that must refuse it, or nothing> <cache entry|...>)
function(sla_consume name sentence)
  add_test(NAME install.${name} COMMAND ${CMAKE_COMMAND}
    -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/install -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/install/${name} -DGENERATOR=${CMAKE_GENERATOR}
    "-DSENTENCE=${sentence}" "-DMATRIX=${matrix_of_${name}}" "-DENTRIES=-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}|${ARGN}"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/install/consume.cmake)
  set_tests_properties(install.${name} PROPERTIES FIXTURES_REQUIRED installed LABELS install TIMEOUT 300)
endfunction()

sla_consume(subdirectory "" "-DSLA_SOURCE=${PROJECT_SOURCE_DIR}")
sla_consume(package "" "-DCMAKE_PREFIX_PATH=${prefix}")
sla_consume(nonsense "there is no component nonsense; the components are: mpi, cuda, " "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=nonsense")
sla_consume(mpi_missing "the component mpi needs an MPI library"
  "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=mpi|-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
sla_consume(cuda_missing "the component cuda needs the CUDA toolkit"
  "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=cuda|-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
sla_consume(gzip_missing "the component gzip needs zlib" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=gzip|-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON")
sla_consume(safetensors_missing "the component safetensors needs nlohmann-json"
  "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=safetensors|-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON")
sla_consume(metis_missing "the component metis needs METIS 5" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=metis|-DSLA_METIS_LIBRARY=")
sla_consume(kahip_missing "the component kahip needs KaHIP" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=kahip|-DSLA_KAHIP_LIBRARY=")
sla_consume(ptscotch_missing "the component ptscotch needs PT-Scotch" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=ptscotch|-DSLA_PTSCOTCH_LIBRARY=")
sla_consume(suitesparse_missing "the component suitesparse needs CHOLMOD and UMFPACK" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=suitesparse|-DSLA_CHOLMOD_LIBRARY=")
sla_consume(spqr_missing "the component spqr needs SPQR and CHOLMOD" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=spqr|-DSLA_SPQR_LIBRARY=")
# What is here is used, all in one program.
set(present "")
foreach(component IN LISTS sla_components)
  if(NOT sla_${component}_missing)
    list(APPEND present ${component})
  endif()
endforeach()
if(present)
  list(JOIN present "," present)
  sla_consume(components "" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=${present}")
endif()

# The component that is a library: refused where it was not built; else its programs say what those without it say. Its own build
# optimises nothing here, which is fast and the same arithmetic, and compiles the three sources of one part together, which differ in their scalar.
sla_consume(instances_missing "the component instances is a library, which this installation has not built" "-DCMAKE_PREFIX_PATH=${prefix}|-DCOMPONENTS=instances")
set(compiled "${CMAKE_CURRENT_BINARY_DIR}/install/compiled")
add_test(NAME install.compiled COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${PROJECT_SOURCE_DIR} ${compiled}/build
  --build-generator ${CMAKE_GENERATOR} --build-target install
  --build-options -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_BUILD_TYPE=None -DSLA_BUILD_TESTS=OFF -DSLA_BUILD_EXAMPLES=OFF -DSLA_BUILD_INSTANCES=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=3
                  -DCMAKE_INSTALL_PREFIX=${compiled}/prefix)
set_tests_properties(install.compiled PROPERTIES FIXTURES_SETUP compiled LABELS install TIMEOUT 900)
set(matrix_of_instances "${CMAKE_CURRENT_SOURCE_DIR}/data/1138_bus.mtx")
sla_consume(instances "" "-DCMAKE_PREFIX_PATH=${compiled}/prefix|-DCOMPONENTS=instances")
set_tests_properties(install.instances PROPERTIES FIXTURES_REQUIRED compiled)

# To configure and to install needs no Catch2, and installing compiles nothing.
set(bare "${CMAKE_CURRENT_BINARY_DIR}/install/bare")
add_test(NAME install.bare COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${PROJECT_SOURCE_DIR} ${bare}/build
  --build-generator ${CMAKE_GENERATOR} --build-target install
  --build-options -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DSLA_CATCH_INCLUDE_DIR= -DCMAKE_INSTALL_PREFIX=${bare}/prefix)
set_tests_properties(install.bare PROPERTIES LABELS install TIMEOUT 300 FAIL_REGULAR_EXPRESSION "Building CXX")
