# Host library: loaded as a component loads it, driven in-process, with ggml's CPU backend behind it.

add_library(test-fake-ggml MODULE host_fake_ggml.cpp)
target_link_libraries(test-fake-ggml PRIVATE apir-abi)

add_library(test-two-devices MODULE host_two_devices.cpp)
target_link_libraries(test-two-devices PRIVATE apir-abi ${CMAKE_DL_LIBS})
target_compile_definitions(test-two-devices PRIVATE GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}")

function(apir_host_test name source library)
  add_executable(test-host-${name} host_${source}_test.cpp)
  target_include_directories(test-host-${name} PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
  target_link_libraries(test-host-${name} PRIVATE apir-wire Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(test-host-${name} PRIVATE HOST_LIBRARY="$<TARGET_FILE:${library}>"
    GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}" FAKE_GGML="$<TARGET_FILE:test-fake-ggml>"
    TWO_DEVICES="$<TARGET_FILE:test-two-devices>")
  add_dependencies(test-host-${name} ${library} test-fake-ggml test-two-devices)
  add_test(NAME host-${name} COMMAND test-host-${name})
  set_tests_properties(host-${name} PROPERTIES TIMEOUT 120)
endfunction()

foreach(name calls graph guards extensions batch pipe shapes log far filling taken)
  apir_host_test(${name} ${name} ggml-virtgpu-backend)
endforeach()
# It looks at what a backend is given.
target_link_libraries(test-host-taken PRIVATE ${GGML_BASE_LIBRARY})

# The host library is to find this program's function in place of libggml's.
apir_host_test(other-ops other_ops ggml-virtgpu-backend)
set_target_properties(test-host-other-ops PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(test-host-other-ops PRIVATE -Wl,--no-as-needed ${GGML_BASE_LIBRARY})

# A host of processors whose caches are remote, which no machine's are for sure: data comes to the guest another way. And one that loses a line on
# that way, which the test has to see.
apir_changed_host(remote_caches APIR_TEST_REMOTE_CACHES cache_lines.cpp)
apir_host_test(pipe-remote pipe plant-remote_caches)
apir_host_test(far-remote far plant-remote_caches)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  apir_changed_host(lost_line APIR_PLANT_LOST_LINE cache_lines.cpp)
  apir_host_test(pipe-lost-line pipe plant-lost_line)
  set_tests_properties(host-pipe-lost-line PROPERTIES PASS_REGULAR_EXPRESSION "the same bytes")
endif()

add_executable(test-host-copy host_copy_test.cpp ${CMAKE_SOURCE_DIR}/host/cache_distance.cpp ${CMAKE_SOURCE_DIR}/host/cache_lines.cpp)
target_include_directories(test-host-copy PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-host-copy PRIVATE apir-wire Threads::Threads)
add_test(NAME host-copy COMMAND test-host-copy)
set_tests_properties(host-copy PROPERTIES TIMEOUT 120)

add_executable(test-host-pipe-work host_pipe_work_test.cpp ${CMAKE_SOURCE_DIR}/host/pipe_work.cpp)
target_include_directories(test-host-pipe-work PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-host-pipe-work PRIVATE apir-wire Threads::Threads)
add_test(NAME host-pipe-work COMMAND test-host-pipe-work)
set_tests_properties(host-pipe-work PROPERTIES TIMEOUT 120)

add_executable(test-host-graph-work host_graph_work_test.cpp ${CMAKE_SOURCE_DIR}/host/graph_work.cpp)
target_include_directories(test-host-graph-work PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
target_link_libraries(test-host-graph-work PRIVATE apir-wire Threads::Threads)
add_test(NAME host-graph-work COMMAND test-host-graph-work)
set_tests_properties(host-graph-work PROPERTIES TIMEOUT 120)

# Where tensors may lie for ggml-vulkan; no device is needed.
add_executable(test-host-vulkan-layout host_vulkan_layout_test.cpp ${CMAKE_SOURCE_DIR}/host/vulkan_layout.cpp)
target_include_directories(test-host-vulkan-layout PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
target_link_libraries(test-host-vulkan-layout PRIVATE apir-abi ${GGML_BASE_LIBRARY})
add_test(NAME host-vulkan-layout COMMAND test-host-vulkan-layout)

# What ggml-cuda is given; neither CUDA nor a device is needed.
add_executable(test-host-cuda-layout host_cuda_layout_test.cpp ${CMAKE_SOURCE_DIR}/host/cuda_layout.cpp)
target_link_libraries(test-host-cuda-layout PRIVATE apir-abi)
add_test(NAME host-cuda-layout COMMAND test-host-cuda-layout)

# The rules about ops, against all cases of the distribution's test-backend-ops: what a real program asks must not be refused.
if(NOT APIR_SANITIZE) # a sanitizer's runtime cannot be preloaded behind this
  find_program(TEST_BACKEND_OPS test-backend-ops PATHS /usr/libexec/${CMAKE_LIBRARY_ARCHITECTURE}/ggml/${APIR_GGML_GENERATION}
    /usr/libexec/${CMAKE_LIBRARY_ARCHITECTURE}/ggml REQUIRED)
  set(host_rules op_rules.cpp op_shapes.cpp sequence_shapes.cpp volume_shapes.cpp cpu_layout.cpp cpu_types.cpp cuda_layout.cpp tensor_check.cpp vulkan_layout.cpp)
  list(TRANSFORM host_rules PREPEND ${CMAKE_SOURCE_DIR}/host/)
  add_library(test-host-rules-spy MODULE host_rules_spy.cpp ${host_rules})
  target_include_directories(test-host-rules-spy PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
  target_link_libraries(test-host-rules-spy PRIVATE apir-wire ${GGML_BASE_LIBRARY} ${CMAKE_DL_LIBS})
  add_test(NAME host-rules COMMAND ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:test-host-rules-spy>
    ${TEST_BACKEND_OPS} support -b CPU --output csv)
  set_tests_properties(host-rules PROPERTIES TIMEOUT 120
    PASS_REGULAR_EXPRESSION "compared [1-9][0-9][0-9][0-9]+ ops, accepted by the device [1-9][0-9]*, refused by the rules 0\n")

  # And those that ggml-vulkan has (of 1.0 five are refused: products of K quants by rows that lie apart in a dimension of 1, and more groups of a norm
  # than 0.27 took), on a device that is there without a GPU.
  find_file(GGML_VULKAN_LIBRARY libggml-vulkan.so PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/ggml/backends${APIR_GGML_GENERATION} NO_DEFAULT_PATH)
  find_file(LAVAPIPE_MANIFEST lvp_icd.json PATHS /usr/share/vulkan/icd.d NO_DEFAULT_PATH)
  if(GGML_VULKAN_LIBRARY AND LAVAPIPE_MANIFEST)
    add_test(NAME host-rules-vulkan COMMAND ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:test-host-rules-spy>
      VK_DRIVER_FILES=${LAVAPIPE_MANIFEST} GGML_VK_VISIBLE_DEVICES=0 GGML_BACKEND_PATH=${GGML_VULKAN_LIBRARY}
      ${TEST_BACKEND_OPS} support -b Vulkan0 --output csv)
    set(refused 0)
    if(APIR_GGML_GENERATION GREATER 0)
      set(refused 5)
    endif()
    set_tests_properties(host-rules-vulkan PROPERTIES TIMEOUT 120
      PASS_REGULAR_EXPRESSION "compared [1-9][0-9][0-9][0-9]+ ops, accepted by the device [1-9][0-9]*, refused by the rules ${refused}\n")
  endif()
endif()
