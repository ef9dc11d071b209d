from hocket.cli import main

main()
