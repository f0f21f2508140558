# Planted defects: the host library with one thing wrong each, and the check that has to see it. A plant is one source compiled anew with
# its macro; the rest are the objects of the good library. A test passes when the check says what is wrong.
function(apir_plant name source)
  string(TOUPPER ${name} macro)
  set(changed apir-plant-${name})
  add_library(${changed} OBJECT ${CMAKE_SOURCE_DIR}/host/${source})
  target_link_libraries(${changed} PRIVATE apir-host-objects)
  target_compile_definitions(${changed} PRIVATE APIR_PLANT_${macro})
  set(good $<TARGET_OBJECTS:apir-host-objects>)
  apir_host_library(plant-${name} $<FILTER:${good},EXCLUDE,/${source}[.]> $<TARGET_OBJECTS:${changed}>)
  # Nothing of this is a product.
  set_target_properties(plant-${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

set(mutations host-mutations --ggml-library ${GGML_CPU_BACKEND} --seeds ${CMAKE_CURRENT_SOURCE_DIR}/seeds/ops.txt --most-findings 1
  --out ${CMAKE_CURRENT_BINARY_DIR}/planted --count 20000)

function(apir_plant_test name seen)
  add_test(NAME plant-${name} COMMAND ${ARGN})
  set_tests_properties(plant-${name} PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION "${seen}")
endfunction()

apir_plant(missing_bound shared_memory.cpp)
apir_plant_test(missing_bound "killed 1," ${mutations} --host-library $<TARGET_FILE:plant-missing_bound>)
apir_plant(trusted_handle session.cpp)
apir_plant_test(trusted_handle "killed 1," ${mutations} --host-library $<TARGET_FILE:plant-trusted_handle>)
apir_plant(wrong_byte calls_buffer.cpp)
apir_plant_test(wrong_byte "wrong 1," ${mutations} --host-library $<TARGET_FILE:plant-wrong_byte>)
apir_plant(lost_reply entry.cpp)
apir_plant_test(lost_reply "wrong 1," ${mutations} --host-library $<TARGET_FILE:plant-lost_reply>)
apir_plant(leak calls_buffer.cpp)
apir_plant_test(leak "memory grows" host-soak $<TARGET_FILE:plant-leak> ${GGML_CPU_BACKEND} 20000 2000)
apir_plant(missing_lock session.cpp)
apir_plant_test(missing_lock "not one call after the other" host-threads $<TARGET_FILE:plant-missing_lock> ${GGML_CPU_BACKEND} 3000)
