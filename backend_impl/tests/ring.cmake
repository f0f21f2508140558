# The command ring's ends: alone in threads, against hostile others, and in every interleaving.
foreach(name ring ring-interleavings)
  string(REPLACE - _ source ${name})
  add_executable(test-${name} ${source}_test.cpp)
  target_include_directories(test-${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(test-${name} PRIVATE apir-wire Threads::Threads)
  add_test(NAME ${name} COMMAND test-${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endforeach()
