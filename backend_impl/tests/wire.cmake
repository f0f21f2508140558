# The codec against the golden vectors. Some two thousand lines that each run once: nothing is gained by optimising them.
add_executable(test-wire wire_test.cpp)
set_source_files_properties(wire_test.cpp PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
target_link_libraries(test-wire PRIVATE apir-wire)
add_test(NAME wire COMMAND test-wire)
set_tests_properties(wire PROPERTIES TIMEOUT 60)

add_executable(test-call-log call_log_test.cpp)
target_link_libraries(test-call-log PRIVATE apir-wire)
add_test(NAME call-log COMMAND test-call-log)
set_tests_properties(call-log PROPERTIES TIMEOUT 60)

add_executable(test-pipe pipe_test.cpp)
target_include_directories(test-pipe PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-pipe PRIVATE apir-wire Threads::Threads)
add_test(NAME pipe COMMAND test-pipe)
set_tests_properties(pipe PROPERTIES TIMEOUT 120)

add_executable(test-short-copies short_copies_test.cpp)
target_link_libraries(test-short-copies PRIVATE apir-wire)
add_test(NAME short-copies COMMAND test-short-copies)
set_tests_properties(short-copies PROPERTIES TIMEOUT 60)
