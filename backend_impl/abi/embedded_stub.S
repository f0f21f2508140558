/* The stub backend library, as bytes of the probe. */
    .section .rodata
    .global apir_stub_begin
    .global apir_stub_end
    .balign 16
apir_stub_begin:
    .incbin APIR_STUB_PATH
apir_stub_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
