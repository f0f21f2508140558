# The whole stack but for the virtual machine: guest library, component, workers, host library, ggml's CPU backend.
add_executable(test-stack stack_test.cpp stack_device.cpp guest_fake.cpp)
target_include_directories(test-stack PRIVATE ${VIRGLRENDERER_INCLUDE_DIR})
target_link_options(test-stack PRIVATE -Wl,--no-as-needed)
target_link_libraries(test-stack PRIVATE apir-guest apir-preload test-virgl-fake-renderer Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(test-stack PRIVATE APIR_WORKER="$<TARGET_FILE:apir-worker>"
  HOST_LIBRARY="$<TARGET_FILE:ggml-virtgpu-backend>" GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}"
  TWO_DEVICES="$<TARGET_FILE:test-two-devices>")
add_dependencies(test-stack apir-worker ggml-virtgpu-backend test-two-devices)
add_test(NAME stack COMMAND test-stack)
set_tests_properties(stack PROPERTIES TIMEOUT 300)
# Recordings for lab/apir to read and to play: with every extension, and by EXECBUFFER with writes that go along with other calls.
foreach(case conversation writes_along)
  set(folder "${CMAKE_BINARY_DIR}/traces-${case}")
  add_test(NAME stack-trace-${case} COMMAND ${CMAKE_COMMAND} -E env VIRGL_APIR_TRACE=${folder} $<TARGET_FILE:test-stack> ${case})
  set_tests_properties(stack-trace-${case} PROPERTIES TIMEOUT 60 FIXTURES_REQUIRED trace-folder-${case})
  add_test(NAME stack-trace-folder-${case} COMMAND sh -c "rm -rf '${folder}' && mkdir '${folder}'")
  set_tests_properties(stack-trace-folder-${case} PROPERTIES FIXTURES_SETUP trace-folder-${case})
endforeach()
