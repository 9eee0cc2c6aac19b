"""Tables: ``table`` decides, ``desk`` carries out, ``board`` lists, ``keeper`` sees matches begin and end."""
