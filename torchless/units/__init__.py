"""What must move together: entities of the code, and the components that they form."""
