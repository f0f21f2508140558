# What transfers are held against.
add_executable(test-bench-copy bench_copy_test.cpp ../bench/copy_loops.cpp)
target_link_libraries(test-bench-copy PRIVATE apir-guest-fake)
add_test(NAME bench-copy COMMAND test-bench-copy)
set_tests_properties(bench-copy PROPERTIES TIMEOUT 120)

# The host's part in that.
add_executable(test-bench-host bench_host_test.cpp)
target_include_directories(test-bench-host PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-bench-host PRIVATE apir-wire ${CMAKE_DL_LIBS})
add_dependencies(test-bench-host apir-bench-host)
add_test(NAME bench-host COMMAND test-bench-host $<TARGET_FILE:apir-bench-host>)
set_tests_properties(bench-host PROPERTIES TIMEOUT 60)

# And what the guest makes of its answers.
add_executable(test-bench-floors bench_floors_test.cpp ../bench/copy_loops.cpp ../bench/floors.cpp ../bench/request.cpp ../bench/row.cpp)
target_link_libraries(test-bench-floors PRIVATE apir-guest-fake)
add_test(NAME bench-floors COMMAND test-bench-floors)
set_tests_properties(bench-floors PROPERTIES TIMEOUT 60)

# The benchmark's program in a loopback: every measurement gives a row, and what cannot be measured is said. The lists of guest.cmake
# come before this one and name the CPU backend. CTest looks at the output alone where it is told what to look for: a bad end is told there, too.
if(cpu_backends)
  set(badly "ENDED BADLY|Sanitizer|runtime error")
  set(ask "empty rounds=3\\nclear rounds=3\\nset size=4 rounds=3\\nset size=4 sent=1 warm=2 rounds=3"
    "\\nset size=8 together=3 warm=1 rounds=2\\nget size=100000 rounds=2\\nalloc_free rounds=3"
    "\\ngraph nodes=1 rounds=2\\ngraph nodes=100 rounds=2\\nthreads threads=3 ms=20\\nafter_pause pause_ms=5\\nidle ms=5\\ntoken rounds=2"
    "\\ntoken rounds=2 rebuild=1\\n")
  string(CONCAT ask ${ask})
  # As many nodes as a small language model's graph: 650 to 800.
  set(token "\"measure\": \"token\"[^}]*\"nodes\": (6[5-9][0-9]|7[0-9][0-9]|800),")
  set(together "\"ns\": .[0-9]+, [0-9]+.,[^}]*\"rounds\": 9, \"size\": 8")
  set(program "$<TARGET_FILE:apir-bench> loopback $<TARGET_FILE:ggml-virtgpu-backend> ${cpu_backend} 1 || echo ENDED BADLY")
  foreach(path shared copied)
    add_test(NAME bench-loopback-${path} COMMAND sh -c "printf '${ask}' | ${program}")
    set_tests_properties(bench-loopback-${path} PROPERTIES TIMEOUT 120 ENVIRONMENT "GGML_VIRTGPU_DATA_PATH=${path}"
      FAIL_REGULAR_EXPRESSION "\"error\"|${badly}" PASS_REGULAR_EXPRESSION "${together}.*\"measure\": \"idle\".*${token}.*${token}")
  endforeach()
  add_test(NAME bench-refuses COMMAND sh -c "printf 'nothing\\nset size=0\\nset size\\nset warm=some\\nset sent=yes\\n' | ${program}")
  set_tests_properties(bench-refuses PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "${badly}" PASS_REGULAR_EXPRESSION
    "no measurement nothing.*size is '0', which is no number from 1 up.*no KEY=VALUE: size.*warm is 'some'.*sent is 'yes'")
endif()
