# Backend API 2 and 3, in a build for the installed libggml (3): a library of each in a program of each version. The program of version 2 is the installed libggml with
# version 2's accessors before it. Who takes whose library is the same under sanitizers, which have all of that code in version 3.
if(APIR_GGML_API EQUAL 3 AND NOT APIR_SANITIZE AND NOT APIR_SANITIZE_THREAD)
get_target_property(guest_sources apir-guest SOURCES)
list(TRANSFORM guest_sources PREPEND ${CMAKE_SOURCE_DIR}/guest/)

add_library(test-ggml-api2 SHARED guest_api2_ggml.cpp)
target_include_directories(test-ggml-api2 PRIVATE ${GGML_INCLUDE_DIR})
target_link_libraries(test-ggml-api2 PRIVATE ${GGML_BASE_LIBRARY} ${CMAKE_DL_LIBS})

# That of version 2 is compiled anew; that of 3 is what this build has.
add_library(test-guest-library-2 MODULE guest_api_library.cpp guest_fake.cpp guest_scripted_host.cpp ${guest_sources})
target_include_directories(test-guest-library-2 PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
target_compile_definitions(test-guest-library-2 PRIVATE APIR_GGML_API=2)
target_link_libraries(test-guest-library-2 PRIVATE apir-wire ${GGML_BASE_LIBRARY} Threads::Threads)
add_library(test-guest-library-3 MODULE guest_api_library.cpp)
target_link_libraries(test-guest-library-3 PRIVATE apir-guest-fake)

foreach(api 2 3)
  target_link_options(test-guest-library-${api} PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,nodelete)

  # The stand-in first: what it has is found there, the rest in libggml.
  if(api EQUAL 2)
    set(libggml -Wl,--no-as-needed test-ggml-api2 ${GGML_LIBRARY} ${GGML_BASE_LIBRARY})
  else()
    set(libggml ${GGML_LIBRARY} ${GGML_BASE_LIBRARY})
  endif()
  add_executable(test-guest-api-${api} guest_api_program.cpp)
  target_include_directories(test-guest-api-${api} PRIVATE ${GGML_INCLUDE_DIR})
  target_link_libraries(test-guest-api-${api} PRIVATE ${libggml})

  foreach(library 2 3)
    set(name guest-api-${library}-in-a-program-of-${api})
    set(verdict refused)
    if(library EQUAL api)
      set(verdict works)
    endif()
    add_test(NAME ${name} COMMAND test-guest-api-${api} $<TARGET_FILE:test-guest-library-${library}> ${verdict})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60)
  endforeach()
endforeach()

# The probe of each version against a libggml of version 2 (against one of 3: abi/CMakeLists.txt).
foreach(api 2 3)
  add_executable(test-abi-${api}-on-2 ${CMAKE_SOURCE_DIR}/abi/probe.cpp ${CMAKE_SOURCE_DIR}/abi/probe_slots.cpp
    ${CMAKE_SOURCE_DIR}/abi/probe_library.cpp ${CMAKE_SOURCE_DIR}/abi/embedded_stub.S)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/abi/embedded_stub.S PROPERTIES
    OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/abi/apir-abi-stub.so
    COMPILE_DEFINITIONS APIR_STUB_PATH="${CMAKE_BINARY_DIR}/abi/apir-abi-stub.so")
  target_include_directories(test-abi-${api}-on-2 PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
  target_compile_definitions(test-abi-${api}-on-2 PRIVATE APIR_GGML_API=${api})
  target_link_libraries(test-abi-${api}-on-2 PRIVATE -Wl,--no-as-needed test-ggml-api2 ${GGML_LIBRARY} ${GGML_BASE_LIBRARY})
  add_dependencies(test-abi-${api}-on-2 apir-abi-stub)
  add_test(NAME abi-probe-${api}-on-2 COMMAND test-abi-${api}-on-2)
endforeach()
set_tests_properties(abi-probe-2-on-2 PROPERTIES TIMEOUT 60 PASS_REGULAR_EXPRESSION "fact: moved 0")
set_tests_properties(abi-probe-3-on-2 PROPERTIES TIMEOUT 60
  PASS_REGULAR_EXPRESSION "moved: buffer_type.get_alignment expected at 0x18, the library uses 0x10")
endif()
