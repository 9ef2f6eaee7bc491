"""Networks that learn against each other."""
