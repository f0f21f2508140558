# Host library: loaded as a component loads it, driven in-process, with ggml's CPU backend behind it.
get_filename_component(ggml_folder ${GGML_BASE_LIBRARY} DIRECTORY)
# The variant that runs on every processor of the architecture.
find_file(GGML_CPU_BACKEND NAMES libggml-cpu-x64.so libggml-cpu-armv8.0_1.so libggml-cpu.so
  PATHS ${ggml_folder}/ggml/backends0 ${ggml_folder}/ggml ${ggml_folder} REQUIRED NO_DEFAULT_PATH)

add_library(test-fake-ggml MODULE host_fake_ggml.cpp)
target_link_libraries(test-fake-ggml PRIVATE apir-abi)

foreach(name calls graph)
  add_executable(test-host-${name} host_${name}_test.cpp)
  target_include_directories(test-host-${name} PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
  target_link_libraries(test-host-${name} PRIVATE apir-wire Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(test-host-${name} PRIVATE HOST_LIBRARY="$<TARGET_FILE:ggml-virtgpu-backend>"
    GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}" FAKE_GGML="$<TARGET_FILE:test-fake-ggml>")
  add_dependencies(test-host-${name} ggml-virtgpu-backend test-fake-ggml)
  add_test(NAME host-${name} COMMAND test-host-${name})
  set_tests_properties(host-${name} PROPERTIES TIMEOUT 120)
endforeach()
