"""Where children live and run: snapshots, program directories, commands, the warden."""
