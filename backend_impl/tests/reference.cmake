# The ggml library of a reference, around ggml's CPU backend.
add_executable(test-reference reference_test.cpp ${CMAKE_SOURCE_DIR}/reference/remote_quantiser.cpp)
target_link_libraries(test-reference PRIVATE apir-abi ${GGML_BASE_LIBRARY} ${CMAKE_DL_LIBS} Threads::Threads)
target_compile_definitions(test-reference PRIVATE REFERENCE="$<TARGET_FILE:ggml-reference>" GGML_CPU_LIBRARY="${GGML_CPU_BACKEND}")
add_dependencies(test-reference ggml-reference)
add_test(NAME reference COMMAND test-reference)
set_tests_properties(reference PROPERTIES TIMEOUT 120)
