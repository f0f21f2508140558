# Guest library: its core linked with a fake device, in one process, no VM.
add_library(apir-guest-fake STATIC guest_fake.cpp guest_scripted_host.cpp)
target_link_libraries(apir-guest-fake PUBLIC apir-guest)

# And with a host library in the same process.
add_library(apir-guest-loopback STATIC guest_loopback.cpp)
target_link_libraries(apir-guest-loopback PUBLIC apir-guest-fake ${GGML_LIBRARY} ${CMAKE_DL_LIBS})

# What was recorded with ggml 0.27 has its ops' numbers.
set(recorded golden)
if(APIR_GGML_GENERATION GREATER 0)
  unset(recorded)
endif()
foreach(name startup ${recorded} calls failures another-context threads pending ring copy cut drm pages turns two-threads waiting transport signature answers write-behind)
  string(REPLACE "-" "_" source ${name})
  add_executable(test-guest-${name} guest_${source}_test.cpp)
  target_link_libraries(test-guest-${name} PRIVATE apir-guest-fake)
  add_test(NAME guest-${name} COMMAND test-guest-${name})
  set_tests_properties(guest-${name} PROPERTIES TIMEOUT 300)
endforeach()

# Its function comes before libggml's.
add_executable(test-guest-other-ops guest_other_ops_test.cpp)
target_link_libraries(test-guest-other-ops PRIVATE apir-guest-fake)
add_test(NAME guest-other-ops COMMAND test-guest-other-ops)
set_tests_properties(guest-other-ops PROPERTIES TIMEOUT 60)

# The end of a process that has copied too little for a choice.
add_test(NAME guest-copy-at-exit COMMAND test-guest-copy once)
set_tests_properties(guest-copy-at-exit PROPERTIES TIMEOUT 300)

# The whole op path: guest library, host library and ggml's CPU backend in one process.
add_executable(test-guest-loopback guest_loopback_test.cpp)
target_link_libraries(test-guest-loopback PRIVATE apir-guest-loopback)
add_dependencies(test-guest-loopback ggml-virtgpu-backend test-two-devices)
add_test(NAME guest-loopback COMMAND test-guest-loopback $<TARGET_FILE:ggml-virtgpu-backend> ${GGML_CPU_BACKEND}
  $<TARGET_FILE:test-two-devices>)
set_tests_properties(guest-loopback PROPERTIES TIMEOUT 300)

# Extensions, over the same path: what is sent with each and without, and that results are the same.
foreach(name graph-ids graph-cache asynchronous doubtful fewer-calls memory one-by-one pipe short-window)
  string(REPLACE "-" "_" source ${name})
  add_executable(test-guest-${name} guest_${source}_test.cpp)
  target_link_libraries(test-guest-${name} PRIVATE apir-guest-loopback)
  add_dependencies(test-guest-${name} ggml-virtgpu-backend)
  add_test(NAME guest-${name} COMMAND test-guest-${name} $<TARGET_FILE:ggml-virtgpu-backend> ${GGML_CPU_BACKEND})
  set_tests_properties(guest-${name} PROPERTIES TIMEOUT 300)
endforeach()

# A program for the inside of a guest; the test only shows that it runs.
add_executable(buffer-soak buffer_soak.cpp)
target_include_directories(buffer-soak PRIVATE ${GGML_INCLUDE_DIR})
target_link_libraries(buffer-soak PRIVATE ${GGML_LIBRARY} ${GGML_BASE_LIBRARY})
add_test(NAME buffer-soak COMMAND buffer-soak ${GGML_CPU_BACKEND} 1000)
set_tests_properties(buffer-soak PROPERTIES TIMEOUT 60)
