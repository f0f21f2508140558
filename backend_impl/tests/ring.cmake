# The command ring's ends: alone in threads, against hostile others, and in every interleaving.
add_executable(test-ring ring_test.cpp)
target_include_directories(test-ring PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-ring PRIVATE apir-wire Threads::Threads)

add_test(NAME ring COMMAND test-ring)
set_tests_properties(ring PROPERTIES TIMEOUT 300)

# Its threads are coroutines, left behind where they stand: sanitizers know nothing of their stacks, so builds with them have no use for it.
if(NOT APIR_SANITIZE AND NOT APIR_SANITIZE_THREAD)
  add_executable(test-ring-interleavings ring_interleavings_test.cpp)
  target_include_directories(test-ring-interleavings PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/wire)
  add_test(NAME ring-interleavings COMMAND test-ring-interleavings)
  set_tests_properties(ring-interleavings PROPERTIES TIMEOUT 300)
endif()
