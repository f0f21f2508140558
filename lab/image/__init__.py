"""Guest images: recipe → kernel, initramfs and root image, cached by content and shared read-only by all guests."""

from lab.image.build import GuestImage, guest_image

__all__ = ["GuestImage", "guest_image"]
