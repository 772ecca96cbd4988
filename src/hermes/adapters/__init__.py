"""What answers an agent's messages in place of the models of Hermes: one folder for each kind."""
