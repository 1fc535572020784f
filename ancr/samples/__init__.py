"""What a user brings: tables, folders of images and arrays as samples; and trained models on disk."""
