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

# The benchmark's program in a loopback: every measurement gives a row, and what cannot be measured is said. CTest looks at
# the output alone where it is told what to look for: a bad end is told there, too.
set(badly "ENDED BADLY|Sanitizer|runtime error")
set(ask "empty rounds=3\\nclear rounds=3\\nset size=4 rounds=3\\nset size=4 sent=1 warm=2 rounds=3"
  "\\nset size=8 together=3 warm=1 rounds=2\\nget size=100000 rounds=2\\nalloc_free rounds=3"
  "\\ngraph nodes=1 rounds=2\\ngraph nodes=100 rounds=2\\nthreads threads=3 ms=20\\nafter_pause pause_ms=5\\nidle ms=5\\ntoken rounds=2"
  "\\ntoken rounds=2 rebuild=1\\n")
string(CONCAT ask ${ask})
# As many nodes as a small language model's graph: 650 to 800.
set(token "\"measure\": \"token\"[^}]*\"nodes\": (6[5-9][0-9]|7[0-9][0-9]|800),")
set(together "\"ns\": .[0-9]+, [0-9]+.,[^}]*\"rounds\": 9, \"size\": 8")
set(program "$<TARGET_FILE:apir-bench> loopback $<TARGET_FILE:ggml-virtgpu-backend> ${GGML_CPU_BACKEND} 1 || echo ENDED BADLY")
foreach(path shared copied)
  add_test(NAME bench-loopback-${path} COMMAND sh -c "printf '${ask}' | ${program}")
  set_tests_properties(bench-loopback-${path} PROPERTIES TIMEOUT 120 ENVIRONMENT "GGML_VIRTGPU_DATA_PATH=${path}"
    FAIL_REGULAR_EXPRESSION "\"error\"|${badly}" PASS_REGULAR_EXPRESSION "${together}.*\"measure\": \"idle\".*${token}.*${token}")
endforeach()
add_test(NAME bench-refuses COMMAND sh -c "printf 'nothing\\nset size=0\\nset size\\nset warm=some\\nset sent=yes\\n' | ${program}")
set_tests_properties(bench-refuses PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "${badly}" PASS_REGULAR_EXPRESSION
  "no measurement nothing.*size is '0', which is no number from 1 up.*no KEY=VALUE: size.*warm is 'some'.*sent is 'yes'")

# A graph that is computed the first time, and then only said to be, is not taken for a quick one.
add_test(NAME bench-stale-graphs COMMAND sh -c
  "echo 'graph nodes=1 warm=1 rounds=1' | $<TARGET_FILE:apir-bench> loopback $<TARGET_FILE:ggml-virtgpu-backend> $<TARGET_FILE:ggml-liar> 1 || echo ENDED BADLY")
set_tests_properties(bench-stale-graphs PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "${badly}" PASS_REGULAR_EXPRESSION "\"error\": \"a graph's result is wrong\""
  ENVIRONMENT "GGML_LIAR_LIBRARY=${GGML_CPU_BACKEND};GGML_LIAR=stale:op=ADD,nth=2")

# A call that the host refuses while it is timed is not counted as a quick one. Of a transfer it is the last one: one call, and here two
# more, come before those that are timed. One that is refused after the last is none of theirs. Programs ask for the memory as they start, too.
add_library(bench-refusing-host MODULE bench_refusing_host.cpp)
target_include_directories(bench-refusing-host PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(bench-refusing-host PRIVATE apir-wire ${CMAKE_DL_LIBS})
set(refusing "$<TARGET_FILE:apir-bench> loopback $<TARGET_FILE:bench-refusing-host> ${GGML_CPU_BACKEND} 1 || echo ENDED BADLY")
function(refused name call served ask words)
  add_test(NAME bench-refused-${name} COMMAND sh -c "echo '${ask}' | ${refusing}")
  set_tests_properties(bench-refused-${name} PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "${badly}" PASS_REGULAR_EXPRESSION "${words}"
    ENVIRONMENT "GGML_VIRTGPU_EXTENSIONS=none;GGML_VIRTGPU_DATA_PATH=copied;REFUSING_LIBRARY=$<TARGET_FILE:ggml-virtgpu-backend>;REFUSED_CALL=${call};REFUSED_AFTER=${served}")
endfunction()
set(unanswered "\"error\": \"the device does not say how much memory it has\"")
refused(empty device_get_memory 50 "empty rounds=50" "${unanswered}")
refused(after-pause device_get_memory 105 "after_pause pause_ms=1 rounds=10" "${unanswered}")
refused(threads device_get_memory 50 "threads threads=3 ms=100" "${unanswered}")
refused(working-threads device_get_memory 50 "threads threads=3 ms=100 work_us=10" "${unanswered}")
refused(first-of-threads device_get_memory 2 "threads threads=3 ms=100" "${unanswered}")
refused(set-sent device_get_memory 30 "set size=4 sent=1 rounds=40" "${unanswered}")
refused(set buffer_set_tensor 6 "set size=9000 warm=2 rounds=4" "\"error\": \"the tensor did not keep its bytes\"")
refused(get buffer_get_tensor 6 "get size=9000 warm=2 rounds=4" "\"error\": \"the tensor did not keep its bytes\"")
refused(clear buffer_clear 5 "clear warm=2 rounds=4" "\"error\": \"the buffer was not cleared\"")
foreach(verb set get)
  refused(too-late-to-${verb} buffer_${verb}_tensor 7 "${verb} size=9000 warm=2 rounds=4" "\"rounds\": 6, \"size\": 9000")
endforeach()
