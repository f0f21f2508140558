# The liar around ggml's CPU backend: each lie is told, and told where it should be.
add_executable(test-liar liar_test.cpp)
target_link_libraries(test-liar PRIVATE apir-abi ${CMAKE_DL_LIBS})
target_compile_definitions(test-liar PRIVATE LIAR="$<TARGET_FILE:ggml-liar>" GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}"
  TWO_DEVICES="$<TARGET_FILE:test-two-devices>")
add_dependencies(test-liar ggml-liar test-two-devices)
add_test(NAME liar COMMAND test-liar)
set_tests_properties(liar PROPERTIES TIMEOUT 120)
