# The only build functions. Sources are listed, never globbed.

# Most of the time of a build from nothing goes into headers that a library's files share: the presets
# compile several files as one (CMAKE_UNITY_BUILD), but for `dev`, where files change one at a time.
# So names that a file declares must be its own in its whole library, program or test.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)

# carillon_library(NAME SOURCES ... [PUBLIC_HEADERS ...] [LINKS ...] [LINKS_PRIVATE ...] [INTERNAL]
#   [ENGINE])
# A folder is a library. LINKS are other libraries of ours (without the prefix); LINKS_PRIVATE are
# third-party targets, seen by the sources only. Without INTERNAL it is installed, because an
# installed library links it; only PUBLIC_HEADERS are promised to users. An ENGINE library is compiled
# with CARILLON_ENGINE_FLAGS.
function(carillon_library name)
  cmake_parse_arguments(arg "ENGINE;INTERNAL" "PUBLIC_ROOT" "SOURCES;PUBLIC_HEADERS;LINKS;LINKS_PRIVATE" ${ARGN})
  set(target carillon_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(carillon::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/shared/include>)
  list(TRANSFORM arg_LINKS PREPEND carillon_)
  target_link_libraries(${target}
    PUBLIC ${arg_LINKS}
    PRIVATE $<BUILD_INTERFACE:carillon_warnings> $<BUILD_INTERFACE:carillon_hardening>
      ${arg_LINKS_PRIVATE})
  if(arg_ENGINE)
    target_compile_options(${target} PRIVATE ${CARILLON_ENGINE_FLAGS})
  endif()
  if(arg_PUBLIC_HEADERS)
    if(NOT arg_PUBLIC_ROOT)
      set(arg_PUBLIC_ROOT include)
    endif()
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${arg_PUBLIC_ROOT} FILES ${arg_PUBLIC_HEADERS})
    install(TARGETS ${target} EXPORT carillon
      FILE_SET HEADERS COMPONENT devel ARCHIVE COMPONENT devel)
  elseif(NOT arg_INTERNAL)
    install(TARGETS ${target} EXPORT carillon ARCHIVE COMPONENT devel)
  endif()
endfunction()

# carillon_program(NAME SOURCES ... LINKS ... [LINKS_PRIVATE ...] [INSTALL])
function(carillon_program name)
  cmake_parse_arguments(arg "INSTALL" "" "SOURCES;LINKS;LINKS_PRIVATE" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  list(TRANSFORM arg_LINKS PREPEND carillon_)
  target_link_libraries(${name} PRIVATE
    carillon_warnings carillon_hardening carillon_allocator ${arg_LINKS} ${arg_LINKS_PRIVATE})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ${CARILLON_HARDENING}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(arg_INSTALL)
    install(TARGETS ${name} RUNTIME COMPONENT programs)
  endif()
endfunction()

# The programs that need no server and no other program of ours: what the sanitizers run.
add_custom_target(carillon_fast_tests)
# What the end-to-end tests and the simulator need.
add_custom_target(carillon_programs)

# ctest hands out slots: `ctest --parallel $((3 * cores))`, as ./check does. A test that computes
# takes those of a core; one that mostly waits, as for a time to come, takes one.
set(CARILLON_SLOTS_OF_A_CORE 3)

# carillon_test(NAME LABEL folder SOURCES ... LINKS ... [LINKS_PRIVATE ...] [TIMEOUT seconds] [SHARDS n]
#   [SINGLE_THREADED] [PRECOMPILED target])
# A GoogleTest program; LABEL is its folder under tests/. One ctest entry, or SHARDS of them that
# share its tests, for one that would keep a single core busy long after all others are done.
# SINGLE_THREADED: the thread sanitizer has nothing to find in it. PRECOMPILED: the target with the
# precompiled headers, unless it is the one of all tests.
option(CARILLON_SINGLE_THREADED_TESTS "Tests that have one thread only, too" ON)
function(carillon_test name)
  cmake_parse_arguments(arg "SINGLE_THREADED" "LABEL;PRECOMPILED;TIMEOUT;SHARDS" "SOURCES;LINKS;LINKS_PRIVATE" ${ARGN})
  if(arg_SINGLE_THREADED AND NOT CARILLON_SINGLE_THREADED_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  list(TRANSFORM arg_LINKS PREPEND carillon_)
  target_link_libraries(${name} PRIVATE carillon_test_options ${arg_LINKS} ${arg_LINKS_PRIVATE})
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED carillon_precompiled_tests)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${arg_PRECOMPILED})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  target_compile_definitions(${name} PRIVATE
    CARILLON_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    CARILLON_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    CARILLON_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  if(arg_LABEL MATCHES "^(unit|contract)$")
    add_dependencies(carillon_fast_tests ${name})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1500)  # sanitizers on a busy machine take twenty times as long
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(entry ${name})
    if(arg_SHARDS GREATER 1)
      set(entry ${name}_${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${entry} COMMAND ${name})
    set_tests_properties(${entry} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
      PROCESSORS ${CARILLON_SLOTS_OF_A_CORE} ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
