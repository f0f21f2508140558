# The command ring's ends: alone in threads, against hostile others, and in every interleaving.
add_executable(test-ring ring_test.cpp)
target_include_directories(test-ring PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-ring PRIVATE apir-wire Threads::Threads)

# Its threads are coroutines, left behind where they stand: sanitizers know nothing of their stacks, so it is built without
# them in every build, and needs headers only.
add_executable(test-ring-interleavings ring_interleavings_test.cpp)
target_include_directories(test-ring-interleavings PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/wire)
target_compile_options(test-ring-interleavings PRIVATE -fno-sanitize=all)
target_link_options(test-ring-interleavings PRIVATE -fno-sanitize=all)

foreach(name ring ring-interleavings)
  add_test(NAME ${name} COMMAND test-${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endforeach()
